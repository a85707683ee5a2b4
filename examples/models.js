// The models that all examples ask. Take names that your account has.
export const openaiModel = "gpt-4o";
export const anthropicModel = "claude-sonnet-5-5";
