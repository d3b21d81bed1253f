"""Semi-supervised learning of local structured output predictors."""
