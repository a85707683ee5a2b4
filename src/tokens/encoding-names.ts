/** The encodings counted here: those of OpenAI's chat models since GPT-3.5. */
export const encodingNames = ["o200k_base", "cl100k_base", "o200k_harmony"] as const;
