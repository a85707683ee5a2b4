import { expect, it, onTestFinished } from "vitest";
import { wordings } from "../../src/engine/policy/wordings.ts";
import { truncateOutput } from "../../src/engine/truncation/truncate.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { countLargeTexts, type openLargeTexts as OpenLargeTexts } from "../../src/operations/large-texts.ts";
import { textLibraries } from "../../src/operations/text-libraries.ts";
import { bundleModules } from "../support/bundle-modules.ts";
import { policyOf } from "../support/policy-of.ts";

const policy = policyOf({ preset: "balanced" });
const text = Array.from({ length: 12_000 }, (_, row) => `row ${row}: \u001b[32mvalue\u001b[0m ${row * 7} is read`).join(
	"\n",
);

async function openThreaded() {
	const [url = ""] = await bundleModules(["operations/large-texts.ts", "operations/large-text-thread.ts"]);
	const { openLargeTexts }: { readonly openLargeTexts: typeof OpenLargeTexts } = await import(url);
	const largeTexts = openLargeTexts();
	onTestFinished(largeTexts.close);
	return largeTexts;
}

it("a thread cuts a text as this one does, and counts its tokens", async () => {
	const largeTexts = await openThreaded();
	const wording = wordings(policy, "archived").notices;
	const cut = { text, budget: { unit: "chars", max: 4_000 }, strategy: "auto", wording, ...textLibraries } as const;
	expect(await largeTexts.cut(cut)).toBe(truncateOutput(cut).text);
	const count = await loadCounter("cl100k_base");
	expect(await largeTexts.count({ text, encoding: "cl100k_base" })).toBe(count(text));
});

it("large texts of a conversation are counted elsewhere once each, and found by the counter", async () => {
	const asked: string[] = [];
	const gone = `${text}, which no thread counts`;
	const largeTexts = {
		cut: () => Promise.reject(new Error("No cut was asked for.")),
		count: async (what: { readonly text: string }) => {
			asked.push(what.text);
			return what.text === gone ? undefined : 7;
		},
		close: async () => {},
	};
	const one = `${text}, and another one`;
	const transcript = {
		messages: [{ role: "user", counted: [one, "short"], calls: [], results: [], thinking: [], mediaTokens: 0 }],
		surroundings: [one, gone],
	} as unknown as Parameters<typeof countLargeTexts>[0];
	const how = { policy, model: "gpt-4o", largeTexts };
	await Promise.all([countLargeTexts(transcript, how), countLargeTexts(transcript, how)]);
	expect(asked).toEqual([one, gone]);
	const count = await loadCounter("o200k_base");
	expect(count(one)).toBe(7);
	// What could not be counted there is counted here.
	expect(count(gone)).toBeGreaterThan(10_000);
});
