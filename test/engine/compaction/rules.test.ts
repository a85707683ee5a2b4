import { expect, it } from "vitest";
import { ruleSpans } from "../../../src/engine/compaction/rules.ts";

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

it("rules are found in their places, without the white space around them", () => {
	const text = "\n\n  Go on.\n\t Never push. \nThanks.\nOnly read.";
	expect(ruleSpans(text)).toEqual([
		{ start: text.indexOf("Never"), end: text.indexOf("Never") + "Never push.".length },
		{ start: text.indexOf("Only"), end: text.length },
	]);
	expect(ruleSpans(" \n \n")).toEqual([]);
});

it("a line of 400 characters is one rule, a longer one is looked at by sentences", () => {
	const line = "Never push. ".padEnd(400, "Go on. ").replace(/ $/, "s");
	expect(line.length).toBe(400);
	expect(rulesIn(line)).toEqual([line]);
	expect(rulesIn(`${line}!`)).toEqual(["Never push."]);
	const chinese = `${"继续。".repeat(150)}不要推送！${"继续。".repeat(50)}`;
	expect(rulesIn(chinese)).toEqual(["不要推送！"]);
	const several = `${"Go on. ".repeat(60)}Why not?! Never push?!... Go on.   Always ask   `;
	expect(rulesIn(several)).toEqual(["Never push?!...", "Always ask"]);
	expect(rulesIn(`!${"x".repeat(400)}. Never push`)).toEqual(["Never push"]);
});

it("a sentence of 1 000 characters may be a rule, a longer one is data", () => {
	const sentence = `Never ${"x".repeat(993)}.`;
	expect(sentence.length).toBe(1_000);
	expect(rulesIn(`${sentence} Thanks.`)).toEqual([sentence]);
	expect(rulesIn(`${sentence.replace("x", "xx")} Thanks.`)).toEqual([]);
});
