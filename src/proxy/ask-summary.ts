import type { IncomingMessage } from "node:http";
import { providerCompaction } from "../engine/compaction/provider-block.ts";
import { createJoinedChunks } from "../operations/http/body.ts";
import { readUsage } from "./billing/read-usage.ts";
import { servedTerms } from "./billing/terms.ts";
import { promptTokens } from "./billing/usage.ts";
import { decodeBody } from "./body.ts";
import { withBeta } from "./host-request.ts";
import type { AnsweredRequest } from "./keep-warm.ts";
import { describe, type Prepared } from "./sending/editing.ts";
import type { AskedWhole, Exchange } from "./serving.ts";

/** An answer that takes longer is too late for the room that is kept free. */
const longestMs = 600_000;
const mostBytes = 4 * 1024 * 1024;

/** Asks the provider for a summary after an answer, if one is due, with the headers of the host's request. Never rejects. */
export async function askForSummary(
	asked: AskedWhole,
	{ summary }: Prepared<string>,
	about: {
		readonly bill: Pick<AnsweredRequest, "usage" | "terms">;
		readonly written: string | undefined;
		readonly exchange: Exchange;
	},
): Promise<void> {
	const { bill, written, exchange } = about;
	const { upstream, ledger, log, editing } = exchange;
	const { usage } = bill;
	if (!summary || !usage) return;
	try {
		const due = await summary(promptTokens(usage), written);
		if (!due) return;
		let answer: unknown;
		try {
			const answered = await upstream.ask({
				...asked,
				rawHeaders: withBeta(asked.rawHeaders, providerCompaction.beta),
				body: { bytes: Buffer.from(due.body), decoded: true },
				signal: AbortSignal.timeout(longestMs),
			});
			const reader = readUsage(answered, "anthropic");
			answer = await readWhole(answered, reader.push);
			const paid = await reader.end();
			if (paid) ledger.summarised({ usage: paid, terms: servedTerms(bill.terms, reader.served()) });
		} catch {
			// Without an answer, nothing changes.
		}
		const reason = await due.answered(answer);
		const message =
			reason === undefined
				? "The provider has summarised the older messages; the next request has the summary in their place."
				: `The provider has written no summary (${reason}); this session goes on without.`;
		log?.({ level: reason === undefined ? "info" : "warning", message, data: { event: "provider_summary" } });
	} catch (error) {
		editing.onFault("failed", describe(error));
	}
}

/** The JSON of an answer; `undefined` for a refusal, and for what cannot be read. */
async function readWhole(answer: IncomingMessage, push: (piece: Buffer) => void): Promise<unknown> {
	const chunks = createJoinedChunks();
	for await (const piece of answer as AsyncIterable<Buffer>) {
		push(piece);
		if (chunks.length() < mostBytes) chunks.add(piece);
	}
	if (answer.statusCode !== 200) return undefined;
	const decoded = await decodeBody(chunks.bytes(), answer.headers["content-encoding"], mostBytes);
	return typeof decoded === "string" ? undefined : JSON.parse(decoded.toString("utf8"));
}
