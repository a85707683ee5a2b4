import { describe, expect, it } from "vitest";
import { cacheTerms } from "../../src/proxy/billing/terms.ts";
import { readRequest } from "../../src/proxy/host-request.ts";
import type { Route } from "../../src/proxy/routes.ts";
import { openEditing, prepare } from "../../src/proxy/sending/editing.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { atLeast } from "../support/breadth.ts";
import { policyOf } from "../support/policy-of.ts";
import { hasRealData, type RealConversation, realConversations } from "../support/real-conversations.ts";

type Body = Readonly<Record<string, unknown>>;

interface Requests {
	readonly route: Route;
	readonly key: "messages" | "input" | "contents";
	readonly isAnswer: (message: Body) => boolean;
}

const requestsOf: Readonly<Record<string, Requests>> = {
	anthropic: {
		route: { upstream: "anthropic", api: "anthropic", kind: "edited" },
		key: "messages",
		isAnswer: ({ role }) => role === "assistant",
	},
	openai: {
		route: { upstream: "openai", api: "openai", kind: "edited" },
		key: "messages",
		isAnswer: ({ role }) => role === "assistant",
	},
	"openai-responses": {
		route: { upstream: "openai", api: "openai", kind: "edited" },
		key: "input",
		isAnswer: ({ role, type }) => role === "assistant" || type === "function_call" || type === "reasoning",
	},
	gemini: {
		route: { upstream: "gemini", api: "gemini", kind: "edited", model: "gemini-2.5-pro" },
		key: "contents",
		isAnswer: ({ role }) => role === "model",
	},
};

const mostRequests = 30;

/** `balanced` masks little in sessions as short as most of these. */
const early = { window_turns: 2, selection: "age", cadence: "stride", stride_turns: 3 } as const;

/** The request before each answer of a recorded session, as its program sent it; of long ones the last. */
function bodiesOf({ format, document }: RealConversation): string[] {
	const { key, isAnswer } = requestsOf[format] as Requests;
	const { messages, ...rest } = document as unknown as { readonly messages: readonly Body[] };
	const about = Object.fromEntries(
		Object.entries(rest).filter(([name]) => ["system", "tools", "model"].includes(name)),
	);
	const marked = format === "anthropic" ? { ...about, cache_control: { type: "ephemeral" } } : about;
	const ends = messages.flatMap((message, index) => {
		const before = messages[index - 1];
		return index > 0 && isAnswer(message) && before && !isAnswer(before) ? [index] : [];
	});
	return ends.slice(-mostRequests).map((end) => JSON.stringify({ ...marked, [key]: messages.slice(0, end) }));
}

function itemsOf(body: string): string[] {
	const { messages, input, contents } = JSON.parse(body);
	return (messages ?? input ?? contents).map((item: unknown) => JSON.stringify(item));
}

describe.skipIf(!hasRealData)("recorded sessions through the proxy", () => {
	const conversations = realConversations(Object.keys(requestsOf));

	let maskedInAll = 0;

	it("are found", () => {
		expect(conversations.length).toBeGreaterThan(atLeast(100));
	});

	it.each(conversations.map((one) => [one.file, one] as const))("%s", async (_, one) => {
		const { route } = requestsOf[one.format] as Requests;
		const archive = (await openArchive({ where: "memory" })) as Archive;
		const policy = policyOf({ preset: "balanced", mask: early });
		const faults: string[] = [];
		const onFault = (_: unknown, reason: string) => void faults.push(reason);
		const editing = await openEditing({ policy, archive, holdout: 0, now: () => 0, onFault });
		let before: { readonly items: readonly string[]; readonly masked: number } | undefined;
		let [requests, breaks] = [0, 0];
		for (const body of bodiesOf(one)) {
			const read = await readRequest(Buffer.from(body), {
				encoding: undefined,
				hold: { take: () => true, takeInTurn: async () => true },
				route,
				policy,
				recall: { command: "palimpsest recall" },
				termsOf: (value) => cacheTerms(value, route.api, policy.prices, { model: route.model }),
				isEnforced: false,
			});
			if (read.kind !== "conversation") throw new Error("Expected a conversation.");
			const { composed, planAhead } = await prepare(read.request, editing);
			await planAhead();
			const items = itemsOf(composed?.written ?? body);
			const came = itemsOf(body);
			expect(items).toHaveLength(came.length);
			const states = composed?.states ?? [];
			const masked = states.filter((state) => state?.kind === "masked").length;
			// What was masked stays so, and what was sent is only appended to but where more is masked.
			if (before) {
				expect(masked).toBeGreaterThanOrEqual(before.masked);
				const isSame = before.items.every((item, index) => item === items[index]);
				if (!isSame) breaks += 1;
				expect(isSame || masked > before.masked).toBe(true);
			}
			for (const state of states) if (state?.ref !== undefined) expect(await archive.has(state.ref)).toBe(true);
			before = { items, masked };
			requests += 1;
		}
		maskedInAll += before?.masked ?? 0;
		expect(breaks).toBeLessThanOrEqual(1 + requests / 2);
		expect(faults).toEqual([]);
	});

	it("have many results masked", () => {
		expect(maskedInAll).toBeGreaterThan(atLeast(300));
	});
});
