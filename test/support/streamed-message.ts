type Json = Readonly<Record<string, unknown>>;

export type ReadAnswer =
	| {
			readonly kind: "message";
			readonly content: readonly Json[];
			/** Entries of `input_transformations`. */
			readonly transformations: readonly Json[];
			readonly usage: Json;
	  }
	| { readonly kind: "error"; readonly message: string };

/** An answer of Anthropic's Messages from its stream, as a program puts it into its history. A cut stream is an error. */
export function readAnswer(stream: string): ReadAnswer {
	const events = Array.from(stream.matchAll(/^data: (.*)$/gm), ([, data = ""]) => JSON.parse(data) as Json);
	const failed = events.find(({ type }) => type === "error");
	if (failed) return { kind: "error", message: JSON.stringify(failed.error) };
	if (events.at(-1)?.type !== "message_stop") return { kind: "error", message: "the stream ended early" };
	const message = events.find(({ type }) => type === "message_start")?.message as Json | undefined;
	const { input_transformations = [], usage = {} } = message ?? {};
	const content: Record<string, unknown>[] = [];
	const parts = new Map<number, string>();
	for (const event of events) {
		const index = event.index as number;
		if (event.type === "content_block_start") content[index] = { ...(event.content_block as Json) };
		const block = content[index];
		if (event.type === "content_block_delta" && block) add(block, event.delta as Json, index, parts);
		if (event.type === "content_block_stop" && block?.type === "tool_use")
			block.input = JSON.parse(parts.get(index) || "{}");
	}
	return {
		kind: "message",
		content,
		transformations: input_transformations as Json[],
		usage: { ...(usage as Json), ...(events.find(({ type }) => type === "message_delta")?.usage as Json | undefined) },
	};
}

function add(block: Record<string, unknown>, delta: Json, index: number, parts: Map<number, string>): void {
	if (delta.type === "input_json_delta") parts.set(index, (parts.get(index) ?? "") + delta.partial_json);
	for (const field of ["text", "thinking", "signature"]) {
		if (delta.type === `${field}_delta`) block[field] = `${block[field] ?? ""}${delta[field]}`;
	}
}
