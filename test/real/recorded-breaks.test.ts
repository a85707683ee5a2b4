import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readConversation } from "../../src/formats/detect.ts";
import { type RecordedBreak, recordedBreaks } from "../../src/proxy/billing/recorded-breaks.ts";
import { conversationsFolder, everyConversation, hasRealData } from "../support/real-conversations.ts";

it.skipIf(!hasRealData)("breaks of recorded sessions have a cause where the record shows one", () => {
	const byFormat = new Map<string, RecordedBreak[]>();
	for (const file of everyConversation()) {
		const source = readConversation(JSON.parse(readFileSync(join(conversationsFolder, file), "utf8")));
		const { breaks } = recordedBreaks(source, 300);
		const { format } = source.transcript;
		byFormat.set(format, [...(byFormat.get(format) ?? []), ...breaks]);
		for (const { detail } of breaks) expect(detail).toMatch(/^[\w .;:,→-]{1,120}$/);
	}
	const known = (format: string) => {
		const breaks = byFormat.get(format) ?? [];
		return breaks.filter(({ cause }) => cause !== "unknown").length / breaks.length;
	};
	expect(known("claude-code")).toBeGreaterThan(0.9);
	expect(known("codex-rollout")).toBeGreaterThan(0.9);
	expect(known("opencode")).toBeGreaterThan(0.8);
	expect(known("pi")).toBe(1);
	const all = [...byFormat.values()].flat();
	expect(all.filter(({ cause }) => cause !== "unknown").length / all.length).toBeGreaterThan(0.95);
});
