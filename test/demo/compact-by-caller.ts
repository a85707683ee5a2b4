import assert from "node:assert/strict";
import type { ChatMessage } from "./record-session.js";

/** What `compact_conversation` asks the caller for, where no model can be asked. */
interface SummaryRequest {
	readonly prompt: string;
	readonly next_call: { readonly tool: string; readonly arguments: Record<string, unknown> };
}

/** A hand-over as an agent writes it of its own work. */
const handover =
	"## Task\nFind out how this project is built.\n## Files and identifiers\npackage.json, src/index.ts\n## Next step\nRun npm test.";

/**
 * Compacts a session as an agent does that has to write the summary itself: asks, writes what the request wants, and makes
 * the call that it spells out.
 */
export async function compactByCaller<Compacted>(
	call: (name: string, input: Record<string, unknown>) => Promise<unknown>,
	messages: readonly ChatMessage[],
): Promise<Compacted> {
	const asked = await call("compact_conversation", { messages, strategy: "llm-summary" });
	const { summary_request: request } = asked as { readonly summary_request: SummaryRequest };
	assert.ok(request.prompt.length > 1_000, "the request shows what is to be summarised");
	const { tool, arguments: next } = request.next_call;
	return (await call(tool, { ...next, messages, summary: handover })) as Compacted;
}
