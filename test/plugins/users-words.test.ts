import { expect, it } from "vitest";
import { usersWords, wordsIn } from "../../src/plugins/users-words.ts";

it("the words of the user are listed, and found again in a summary", () => {
	const texts = ["Find the bug.", "No, the\n- other\none.", "Thanks."];
	const words = usersWords(["", ...texts, "  "]) ?? "";
	expect(words.split("\n")[0]).toBe("What the user wrote, word for word, oldest first:");
	expect(wordsIn(`A summary.\n\n${words}`)).toEqual(texts);
	expect(wordsIn("A summary.")).toEqual([]);
});

it("nothing is made of nothing", () => {
	expect(usersWords([])).toBeUndefined();
	expect(usersWords([" \n"])).toBeUndefined();
});

it("long sessions keep the first text and the newest within 16 000 characters", () => {
	const texts = Array.from({ length: 100 }, (_, index) => `${index}: ${"x".repeat(990)}`);
	const words = usersWords(texts) ?? "";
	expect(words.length).toBeLessThan(18_000);
	expect(words).toContain("- 0: x");
	expect(words).toContain("- 99: x");
	expect(words).toMatch(/\n- \(\d+ more in between\)\n/);
	const long = usersWords(["x".repeat(50_000), "and this"]) ?? "";
	expect(long.length).toBeLessThan(9_000);
	expect(long).toContain("- and this");
});
