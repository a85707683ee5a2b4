/**
 * The special tokens by which chat templates mark roles, turns and calls: ChatML's and Llama's `<|…|>`, DeepSeek's
 * `<｜…｜>`, Gemma's, Mistral's and Llama 2's. A server that tokenises them inside a message would take its text for a
 * message of its own.
 */
const specialToken =
	/<(?=[|｜][^<>\s|｜]{1,64}[|｜]>)|<(?=(?:start|end)_of_turn>|\/?s>|bos>|eos>|<\/?SYS>>)|\[(?=\/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT|TOOL_CONTENT)\])/g;

/** Takes the effect of special tokens: a space behind the bracket leaves them readable, and plain text to a tokenizer. */
export function neutraliseSpecialTokens(text: string): string {
	return text.replace(specialToken, (bracket) => `${bracket} `);
}
