import { fc, test } from "@fast-check/vitest";
import { afterAll, expect } from "vitest";
import { localeNames, truncationStrategies } from "../../src/engine/policy/names.ts";
import { loadCounter } from "../../src/formats/tokens/counter.ts";
import { truncateText } from "../../src/operations/truncate.ts";
import type { Archive } from "../../src/storage/archive/archive.ts";
import { openArchive } from "../../src/storage/archive/open.ts";
import { anyCharacter } from "../support/any-character.ts";
import { isJson } from "../support/is-json.ts";
import { policyOf } from "../support/policy-of.ts";

const count = await loadCounter("o200k_base");
const archive = (await openArchive({ where: "memory" })) as Archive;
const seen = { cut: 0, refused: 0, tokens: 0, json: 0, lone: 0, named: 0, byStrategy: new Map<string, number>() };

const words = fc.constantFrom(
	"value",
	"Error: no",
	"👩‍👩‍👧",
	"é",
	"🇫🇷",
	"读取",
	"\u001b[31mred\u001b[0m",
	"x".repeat(90),
	"\ud83d",
);
const line = fc.array(words, { maxLength: 12 }).map((parts) => parts.join(" "));
const json = fc
	.array(fc.record({ id: fc.maxSafeInteger(), name: fc.string(), tags: fc.array(fc.string(), { maxLength: 4 }) }), {
		minLength: 4,
		maxLength: 60,
	})
	.map((rows) => JSON.stringify(rows));
const html = fc
	.array(line, { minLength: 4, maxLength: 60 })
	.map((lines) => `<!doctype html><html><body>${lines.map((one) => `<p>${one}</p>`).join("")}</body></html>`);
const table = fc
	.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom("red", "green")), { minLength: 20, maxLength: 90 })
	.map((rows) => ["id,size,colour", ...rows.map((row) => row.join(","))].join("\n"));
const texts = fc.oneof(
	fc.array(line, { minLength: 5, maxLength: 120 }).map((lines) => lines.join("\n")),
	{ weight: 3, arbitrary: json },
	html,
	table,
	fc.string({ unit: anyCharacter, minLength: 200, maxLength: 900 }),
);
const limits = fc.oneof(
	fc.integer({ min: 0, max: 2_000 }).map((maxChars) => ({ maxChars })),
	fc.integer({ min: 1, max: 400 }).map((maxTokens) => ({ maxTokens })),
);

test.prop([texts, limits, fc.constantFrom(...truncationStrategies), fc.constantFrom(...localeNames), fc.boolean()], {
	numRuns: 450,
})("every strategy keeps its promises through the pipeline", async (text, limit, strategy, locale, isArchived) => {
	const policy = policyOf({ locale, truncate: { head_chars: 30, tail_chars: 20 } });
	const given = { policy, strategy, focus: "value red", ...limit, ...(isArchived ? { archive } : {}) } as const;
	const cut = await truncateText({ ...given, text }).catch(({ code, message }) => ({ code, message }));
	if ("code" in cut) {
		expect(cut.code).toBe("invalid_argument");
		const least = Number(/smallest that works here is (\d+)/.exec(cut.message)?.[1]);
		const name = "maxTokens" in limit ? "maxTokens" : "maxChars";
		expect(least, "the least that works is more than what does not").toBeGreaterThan(Object.values(limit)[0] as number);
		const marked = await truncateText({ ...given, text, [name]: least });
		expect(marked.text, "what it names works").not.toBe("");
		await expect(truncateText({ ...given, text, [name]: least - 1 }), "and nothing less").rejects.toThrow(/smallest/);
		seen.refused += 1;
		return;
	}
	const { text: shorter, report } = cut;
	expect(shorter.length, "never longer").toBeLessThanOrEqual(text.length);
	expect(report).toMatchObject({ truncated: shorter !== text, chars: { before: text.length, after: shorter.length } });
	if (!report.truncated) return;
	seen.cut += 1;
	seen.byStrategy.set(report.strategy, (seen.byStrategy.get(report.strategy) ?? 0) + 1);
	if (text.isWellFormed() || report.strategy !== "head_tail") expect(shorter.isWellFormed()).toBe(true);
	if (!text.isWellFormed()) seen.lone += 1;
	if ("maxTokens" in limit) {
		expect(count(shorter)).toBeLessThanOrEqual(limit.maxTokens);
		seen.tokens += 1;
	} else if (strategy !== "head_tail") expect(shorter.length).toBeLessThanOrEqual(limit.maxChars);
	if (report.strategy === "json" && isJson(text) && shorter.length > 1) {
		expect(isJson(shorter)).toBe(true);
		seen.json += 1;
	}
	if (isArchived) {
		expect((await archive.get(report.ref ?? "")).text === text).toBe(true);
		seen.named += shorter.includes(report.ref ?? "-") ? 1 : 0;
	}
	const twice = await truncateText({ ...given, text: shorter });
	expect(twice.text, "truncating again changes nothing").toBe(shorter);
});

afterAll(() => {
	expect(seen.refused).toBeGreaterThan(5);
	process.stderr.write(`${JSON.stringify({ ...seen, byStrategy: Object.fromEntries(seen.byStrategy) })}\n`);
	expect(seen.cut).toBeGreaterThan(120);
	expect(seen.tokens).toBeGreaterThan(70);
	expect(seen.json).toBeGreaterThan(3);
	expect(seen.lone).toBeGreaterThan(30);
	expect(seen.named).toBeGreaterThan(12);
	for (const name of ["head_tail", "json", "html", "log", "table", "diff", "focus", "binary"]) {
		expect(seen.byStrategy.get(name) ?? 0, name).toBeGreaterThan(3);
	}
});
