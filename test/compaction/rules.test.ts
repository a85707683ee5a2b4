import { expect, it } from "vitest";
import { ruleSpans } from "../../src/compaction/rules.ts";

const rulesIn = (text: string) => ruleSpans(text).map(({ start, end }) => text.slice(start, end));

it.each([
	["Never push to main.", "The push went well."],
	["You mustn't rename it.", "It has another name."],
	["  - do not touch the migrations", "The migrations are done."],
	["From now on use tabs.", "It uses tabs."],
	["That rule no longer holds.", "That rule holds."],
	["Ne modifie pas ce fichier.", "Modifie ce fichier."],
	["N'ajoute aucune chose, mais n'oublie pas les tests.", "Ajoute des tests."],
	["Il faut garder le port.", "Voici le port."],
	["Ce n'est plus interdit.", "C'est fait."],
	["端口必须保持 8443。", "端口是 8443。"],
	["从现在起使用制表符。", "请看这个文件。"],
])("%s is a rule, %s is none", (rule, other) => {
	expect(rulesIn(`Go on.\n${rule}\nThanks.`)).toEqual([rule.trim()]);
	expect(rulesIn(other)).toEqual([]);
});

it("of a long line only the sentence is a rule, and of data nothing", () => {
	const filler = "The quick brown fox jumps over the lazy dog. ".repeat(10);
	expect(rulesIn(`${filler}Never push. ${filler}`)).toEqual(["Never push."]);
	expect(rulesIn(`${"x".repeat(2_000)} must ${"x".repeat(2_000)}`)).toEqual([]);
});
