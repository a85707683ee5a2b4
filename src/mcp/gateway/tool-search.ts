import type { JsonObject } from "../../engine/conversation/json.ts";
import { objectOf, stringAt } from "../../formats/json-text/value.ts";

const mostFound = 5;
/** A tool that fits worse than this share of the best is not shown. */
const leastShare = 0.35;
const [weightOfName, weightOfDescription, weightOfParameters] = [3, 1, 0.4] as const;
const longestRead = 2_000;

/** The tools that fit some plain words, the best first: the one of this name alone if there is one. */
export function findTools(query: string, tools: readonly JsonObject[]): readonly JsonObject[] {
	const wanted = query.trim();
	const named = tools.filter((tool) => stringAt(tool, "name") === wanted);
	if (named.length > 0) return named;
	const asked = [...new Set(wordsOf(query))];
	const texts = tools.map(weightsOf);
	const common = new Map<string, number>();
	for (const words of texts) for (const word of words.keys()) common.set(word, (common.get(word) ?? 0) + 1);
	const rarity = (word: string) => Math.log(1 + tools.length / (common.get(word) ?? tools.length));
	const scoreOf = (words: ReadonlyMap<string, number>) =>
		asked.reduce((sum, word) => {
			const others = meaningsOf(word).map((one) => 0.6 * (words.get(one) ?? 0) * rarity(one));
			return sum + (vague.has(word) ? 0.4 : 1) * Math.max((words.get(word) ?? 0) * rarity(word), ...others, 0);
		}, 0);
	const scored = tools.map((tool, index) => ({ tool, score: scoreOf(texts[index] as Map<string, number>) }));
	scored.sort((a, b) => b.score - a.score);
	const best = scored[0]?.score ?? 0;
	if (best === 0) return [];
	return scored
		.filter(({ score }) => score >= best * leastShare)
		.slice(0, mostFound)
		.map(({ tool }) => tool);
}

/** The words of a tool with their weights; a word that is repeated counts once. */
function weightsOf(tool: JsonObject): Map<string, number> {
	const description = (stringAt(tool, "description") ?? "").slice(0, longestRead);
	const [first = "", ...rest] = description.split(/(?<=[.\n])/);
	const parameters = Object.entries(objectOf(objectOf(tool.inputSchema).properties)).map(
		([name, schema]) => `${name} ${stringAt(objectOf(schema), "description") ?? ""}`,
	);
	const weights = new Map<string, number>();
	const add = (text: string, weight: number) => {
		for (const word of wordsOf(text)) weights.set(word, Math.max(weights.get(word) ?? 0, weight));
	};
	add(
		`${stringAt(tool, "name") ?? ""} ${stringAt(objectOf(tool.annotations), "title") ?? stringAt(tool, "title") ?? ""}`,
		weightOfName,
	);
	add(first, weightOfDescription * 1.5);
	add(rest.join(""), weightOfDescription * 0.6);
	add(parameters.join(" ").slice(0, longestRead), weightOfParameters);
	return weights;
}

const stopWords = new Set(
	"a an the of to in on at for from with by and or as is are be it its this that these those i my me we our you your all some any into out up how what which who do does can could would please want need use using get give one".split(
		" ",
	),
);

/** In small letters, without the commonest endings. Scripts without blanks give pairs of characters. */
function wordsOf(text: string): string[] {
	const spaced = text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase();
	return (spaced.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) => {
		if (/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(word))
			return word.length < 2
				? [word]
				: Array.from(word)
						.slice(1)
						.map((one, at) => `${Array.from(word)[at]}${one}`);
		return stopWords.has(word) ? [] : [stemOf(word)];
	});
}

function stemOf(word: string): string {
	if (word.length < 4) return word;
	const one = word.replace(/(?:ies|ied)$/, "y").replace(/(?<=[^s])s$/, "");
	const stem = one.replace(/(?:ations?|ating|ated|ate)$/, "at").replace(/(?:ing|ed|er|ly)$/, "");
	return (stem.length < 3 ? one : stem).replace(/(.)\1$/, "$1").replace(/(?<=...)e$/, "");
}

/** Verbs of most tools, which say little of what is wanted. */
const vague = new Set("find look list show see read make create new open add all name go".split(" ").map(stemOf));

/** Words that people use for each other when they ask for a tool. */
const meanings = [
	"screenshot picture image photo capture",
	"create make new add open",
	"delete remove erase close",
	"list show see display view read",
	"find search look locate",
	"visit go navigate load open",
	"website site page url link web tab",
	"write type enter input fill save",
	"rename move",
	"folder directory dir",
	"window viewport size resize bigger smaller",
	"big large size byte length",
	"time date when modify",
	"fast slow speed performance trace quick",
	"memory heap leak snapshot",
	"bug issue ticket problem",
	"pr pull merge",
	"document documentation docs manual reference guide",
	"upload attach send",
	"dark light theme media emulate color",
	"dialog popup alert confirm prompt",
	"javascript js script code evaluate run execute",
	"video record screencast film",
	"accessibility audit lighthouse seo quality",
	"comment reply note answer",
	"user people person developer account member",
	"history commit log",
	"change edit update modify replace",
	"sum total add plus number",
	"compress zip gzip pack shrink",
	"environment env variable setting",
	"press key keyboard shortcut hit",
	"request network traffic http call",
	"tree hierarchy structure recursive nested",
	"fork copy clone duplicate",
	"info metadata detail information property permission",
	"style css design",
	"library package framework module",
	"dropdown select choose option menu pick",
	"status check ci build test",
	"wait until appear",
	"back previous return",
	"review approve feedback",
	"branch version",
	"echo repeat say",
	"long slow progress operation",
	"console message error log warning",
	"hover mouse point cursor",
	"mobile phone device",
].map((line) => line.split(" ").map(stemOf));

function meaningsOf(word: string): readonly string[] {
	return meanings.filter((group) => group.includes(word)).flat();
}
