import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createReadiness } from "../../src/operations/http/readiness.ts";
import type { LiveBreak, LiveConversation, LiveStatus } from "../../src/pages/live-data.ts";
import { readCallersRequest } from "../../src/proxy/callers.ts";
import { createKeys, pageAddress } from "../../src/proxy/keys.ts";
import type { Ledger } from "../../src/proxy/ledger.ts";
import { livePages, viewWithKey } from "../../src/proxy/live-pages.ts";
import { figuresOf, newSums } from "../../src/proxy/request-sums.ts";
import { openArchive } from "../../src/storage/archive/open.ts";

const started = Date.UTC(2026, 10, 20, 9, 0);

const { provider_cleared_results: _, ...zero } = figuresOf(newSums());
/** All are known. */
const noSums = zero as Readonly<Record<keyof typeof zero, number>>;

/** A conversation that grows by 2 400 tokens a request, of which every 12th masks most of what is old. */
export function liveConversation(requests: number, own: Partial<LiveConversation> = {}): LiveConversation {
	const points: [number, number, number, number][] = [];
	const results: LiveConversation["results"][number][] = [];
	const breaks: LiveBreak[] = [];
	let leftOut = 0;
	for (let request = 1; request <= requests; request += 1) {
		const unedited = 18_000 + (2_400 * request) / Math.max(1, requests / 60);
		if (request % 12 === 0) {
			leftOut = unedited * 0.6;
			const [tool, why] = request % 24 === 0 ? ["Read", "it pays"] : ["Bash", "the cache had expired"];
			for (let result = 0; result < 4; result += 1)
				results.push({
					request,
					...{ what: "masked", why, tool, tokens_before: 5_200 - 37 * result, tokens_after: 41 },
					ref: `r${String(request * 10 + result).padStart(11, "0")}`,
				});
			breaks.push({ request, cause: "masking", detail: "4 results", tokens: 14_200, usd: 0.0533, advice: null });
		}
		const sent = Math.round(unedited - leftOut);
		points.push([sent, Math.round(leftOut), Math.round(sent * 0.2), Math.round(unedited * 0.2)]);
	}
	const sum = (column: 0 | 1 | 2 | 3) => points.reduce((all, point) => all + point[column], 0);
	const [billed, unedited] = [sum(2), sum(3)];
	return {
		...noSums,
		id: "conversation-1",
		api: "anthropic",
		program: "claude",
		agent: null,
		folder: "webshop",
		model: "claude-sonnet-4-5",
		state: "edited",
		first: started,
		last: started + requests * 20_000,
		...{ requests, tokens_sent: sum(0), tokens_left_out: sum(1), billed, billed_unedited: unedited },
		...{ ratio: billed / unedited, usd: billed * 3e-6, usd_saved: (unedited - billed) * 3e-6 },
		...{ output_tokens: 320 * requests, cache_read_tokens: sum(0) - 2_400 * requests },
		...{ cache_write_tokens: 2_400 * requests, reasoning_left_out: 1_830 },
		points,
		first_point: 1,
		undecided: requests < 30 ? [] : [{ from: 8, to: 27, why: "frozen", last: started + 27 * 20_000 }],
		results,
		breaks,
		...own,
	};
}

/** Without the lists of one conversation, as the status has the others. */
export const folded = (one: LiveConversation): LiveConversation => {
	const { breaks, ...rest } = one;
	return { ...rest, points: [], undecided: [], results: [], breaks: [] };
};

export function liveStatus(conversations: readonly LiveConversation[], own: Partial<LiveStatus> = {}): LiveStatus {
	const edited = { ...noSums };
	for (const one of conversations)
		for (const key of Object.keys(noSums) as (keyof typeof noSums)[]) edited[key] += one[key] ?? 0;
	return {
		started,
		requests: { requests: edited.requests, edited: 21, passed: 3, sent_again: 1, threads: 0, failed: 0 },
		faults: { failed: 0, archive: 0, memory: 0, encoding: 1 },
		undecided: conversations.length > 0 ? { frozen: 20 } : {},
		undecided_last: conversations.length > 0 ? { frozen: started + 600_000 } : {},
		frozen_conversations: 1,
		unknown_usage: 0,
		unknown_usage_fields: [],
		subagents: noSums,
		unasked: { requests: 0, billed: 0, usd: 0 },
		kept_warm: { pings: 2, billed: 6_018, usd: 0.018, failed: 0 },
		edited: { ...edited, ratio: edited.billed_unedited > 0 ? edited.billed / edited.billed_unedited : 1 },
		held_out: noSums,
		conversations,
		...own,
	};
}

/** Serves the live page with the answers of the proxy, but figures of ours. */
export async function serveLive(status: LiveStatus) {
	let shown = status;
	const asked: string[] = [];
	const listeners = new Set<() => void>();
	const onEntry = (listener: () => void) => {
		listeners.add(listener);
		return () => listeners.delete(listener);
	};
	const ledger = { onEntry, status: (alone?: string) => choose(shown, alone) } as unknown as Ledger;
	const keys = createKeys();
	const viewOf = viewWithKey({ ledger, keys, archive: await openArchive({ where: "memory" }) });
	const pages = livePages({ keys, viewOf, readiness: createReadiness({}) });
	const server: Server = createServer((request, response) => {
		asked.push(request.url ?? "");
		void pages.answer(request, response, readCallersRequest(request, { isOfMany: false }));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	return {
		url: pageAddress(address, keys),
		asked,
		show(next: LiveStatus) {
			shown = next;
			for (const listener of [...listeners]) listener();
		},
		async close() {
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}

function choose(status: LiveStatus, alone = ""): LiveStatus {
	const { conversations } = status;
	const id = conversations.some((one) => one.id === alone) ? alone : conversations[0]?.id;
	return { ...status, conversations: conversations.map((one) => (one.id === id ? one : folded(one))) };
}
