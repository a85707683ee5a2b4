import { afterEach, expect, it, vi } from "vitest";
import { showChange } from "../../src/commands/install.ts";

afterEach(() => void vi.restoreAllMocks());

/** What a dry run prints of a change, without the file's name. */
async function shown(before: string | undefined, after: string | undefined): Promise<string> {
	const written: string[] = [];
	vi.spyOn(process.stdout, "write").mockImplementation((text) => written.push(String(text)) > 0);
	vi.spyOn(process.stderr, "write").mockImplementation(() => true);
	await showChange({ file: "settings.json", change: { before, after }, dryRun: true, done: "installed" });
	expect(written.join("").startsWith("settings.json\n")).toBe(true);
	return written.join("").slice("settings.json\n".length);
}

const lines = (...changed: readonly number[]) =>
	Array.from({ length: 12 }, (_, index) => (changed.includes(index) ? `new ${index}\n` : `line ${index}\n`)).join("");

it("shows the lines that change, with three lines around each place", async () => {
	expect(await shown(lines(), lines(1, 11))).toBe(
		"  line 0\n- line 1\n+ new 1\n  line 2\n  line 3\n  line 4\n  …\n  line 8\n  line 9\n  line 10\n- line 11\n+ new 11\n",
	);
});

it("shows a file that is new, and one that goes", async () => {
	expect(await shown(undefined, "a\nb\n")).toBe("+ a\n+ b\n");
	expect(await shown("a\nb\n", undefined)).toBe("- a\n- b\n");
});

it("shows nothing of line breaks, those of Windows or one at the end of the file", async () => {
	expect(await shown("a\r\nb\r\nc", "a\nB\nc\n")).toBe("  a\n- b\n+ B\n  c\n");
});
