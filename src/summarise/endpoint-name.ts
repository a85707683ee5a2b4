/** How reports name a summariser that asks a chat-completions endpoint. */
export function endpointName(model: string): string {
	return `openai-compatible (${model})`;
}
