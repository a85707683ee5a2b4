import { describe, expect, it } from "vitest";
import {
	breakInWords,
	conversationRows,
	editsInWords,
	formatChange,
	formatDollars,
	marksOf,
	nameOf,
	proxyRows,
	spanOf,
	tilesOf,
} from "../../src/pages/live-data.ts";
import { liveConversation, liveStatus } from "./live-fixture.ts";

describe("the large figures", () => {
	it("come from the sums, with the pings as a cost", () => {
		const one = liveConversation(24);
		const tiles = tilesOf(liveStatus([one]));
		const [usd, saved] = [one.usd as number, one.usd_saved as number];
		expect(tiles[0]?.value).toBe(formatDollars(saved - 0.018));
		expect(tiles[0]?.detail).toBe(
			`paid ${formatDollars(usd + 0.018)} of ${formatDollars(usd + saved)}, $0.02 of it for pings`,
		);
		const all = one.tokens_sent + one.tokens_left_out;
		expect(tiles[1]?.detail).toBe(
			`${Math.round((100 * one.tokens_left_out) / all)} % of ${all.toLocaleString("en")}, counted in each request`,
		);
		expect(tiles[2]).toMatchObject({
			name: "Input bill",
			value: formatChange((one.billed + 6_018) / (one.billed_unedited as number)),
		});
		expect(tiles[3]).toEqual({ name: "Requests", value: "24", detail: "21 edited" });
	});

	it("name unknown values, with the reason", () => {
		const noPrice = { usd: null, usd_saved: null, unpriced_requests: 24, usd_untold_requests: 24 };
		const one = liveConversation(24);
		const [unpriced] = tilesOf(liveStatus([one], { edited: { ...one, ...noPrice } }));
		expect(unpriced).toMatchObject({ value: "unknown", detail: "the price of the model is unknown" });
		const untold = { usd_saved: null, usd_untold_requests: 24, billed_unedited: null, untold_requests: 24 };
		const [dollars, , ratio] = tilesOf(liveStatus([one], { edited: { ...one, ...untold } }));
		for (const tile of [dollars, ratio])
			expect(tile).toMatchObject({ value: "unknown", detail: "the bill without edits is unknown" });
		const some = tilesOf(liveStatus([one], { edited: { ...one, usd_untold_requests: 3 } }));
		expect(some[0]?.detail).toMatch(/^paid \$[\d.]+, \$0\.02 of it for pings; unknown for 3 requests$/);
	});

	it("are none before the first request", () => {
		expect(tilesOf(liveStatus([])).map(({ value }) => value)).toEqual(["–", "0", "–", "0"]);
	});
});

it.each([
	[0, "$0.00"],
	[12.345, "$12.35"],
	[-0.31, "−$0.31"],
	[0.0532, "$0.05"],
	[-0.00042, "−$0.00042"],
	[0.00000001, "$0.000000"],
	[1_234.5, "$1,234.50"],
])("%f US dollars are %s", (value, text) => {
	expect(formatDollars(value)).toBe(text);
});

it.each([
	[0.84, "−16 %"],
	[1.031, "+3 %"],
	[0.9963, "−0.4 %"],
	[0.9999, "0 %"],
	[1, "0 %"],
	[0.001, "−100 %"],
])("a bill of %f × the one without edits is %s", (ratio, text) => {
	expect(formatChange(ratio)).toBe(text);
});

it("the figures of a proxy in which nothing else happened are none", () => {
	const calm = {
		faults: {},
		undecided: {},
		frozen_conversations: 0,
		kept_warm: { pings: 0, billed: 0, usd: 0, failed: 0 },
	};
	const { requests } = liveStatus([liveConversation(3)]);
	const none = { ...requests, sent_again: 0, passed: 0, threads: 0, failed: 0 };
	expect(proxyRows(liveStatus([liveConversation(3)], { ...calm, requests: none }))).toEqual([]);
});

describe("a conversation", () => {
	it("is named by its program and folder, or its API", () => {
		expect(nameOf(liveConversation(1))).toBe("claude · webshop");
		expect(nameOf(liveConversation(1, { program: null, folder: null }))).toBe("anthropic");
		expect(nameOf(liveConversation(1, { agent: "a76c" }))).toBe("claude · webshop · subagent a76c");
	});

	it("does not show unknown dollars as none", () => {
		const rows = new Map(conversationRows(liveConversation(3, { usd: null, usd_saved: null, ratio: null })));
		expect([rows.get("US dollars"), rows.get("US dollars saved"), rows.get("Input bill")]).toEqual([
			"unknown",
			"unknown",
			"unknown",
		]);
	});

	it("has marks where results changed and where the cache broke, with the cause", () => {
		const { edits, breaks } = marksOf(liveConversation(24));
		expect([...edits.keys(), ...breaks.keys()]).toEqual([12, 24, 12, 24]);
		expect(editsInWords(edits.get(24))).toBe("4 masked (it pays)");
		expect(editsInWords(edits.get(3))).toBe("–");
		const broken = { request: 3, tokens: 1, usd: null, advice: null };
		const words = (cause: string, detail: string) => breakInWords({ ...broken, cause, detail });
		expect(words("earlier_message", "")).toBe("earlier message, 1 token written again");
		expect(words("tools", "tools: +one")).toBe("tools: +one, 1 token written again");
		expect(words("masking", "4 results")).toBe("masking: 4 results, 1 token written again");
		expect(marksOf({ results: [] }).breaks.size).toBe(0);
	});
});

it("the figures of the proxy name the causes of a small saving", () => {
	const rows = new Map(proxyRows(liveStatus([liveConversation(24)])));
	expect(rows.get("Without new decisions")).toMatch(/^after a refusal: 20, last [A-Z][a-z]{2} \d+, \d\d:\d\d$/);
	expect(rows.get("Refused, sent again")).toBe("1; 1 conversation left alone for a while");
	expect(rows.get("Faults")).toBe("encoding 1");
	expect(rows.get("Pings")).toBe("2 pings kept caches warm, billed 6,018, $0.02");
	expect(rows.has("Held out")).toBe(false);
	expect(rows.has("Subagents")).toBe(false);
	const status = liveStatus([liveConversation(24, { agent: "a76c" })]);
	const subagents = { ...status.edited, requests: 24, usd: 0.5, usd_saved: 0.04 };
	expect(new Map(proxyRows({ ...status, subagents })).get("Subagents")).toBe("24 requests, $0.50, $0.04 saved");
	expect(rows.get("Other requests")).toBe("3 passed on unread");
});

it("a span of time names its day once", () => {
	const at = new Date(2026, 10, 20, 9, 5).getTime();
	expect(spanOf({ first: at, last: at + 20_000 })).toBe("Nov 20, 09:05");
	expect(spanOf({ first: at, last: at + 600_000 })).toBe("Nov 20, 09:05 to 09:15");
	expect(spanOf({ first: at, last: at + 86_400_000 })).toBe("Nov 20, 09:05 to Nov 21, 09:05");
});
