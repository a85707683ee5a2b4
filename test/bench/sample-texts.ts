import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { base64, chineseProse, logLines } from "./generate-text.ts";
import { benchFolder, projectFolder } from "./project-folder.ts";
import { createRandom } from "./random.ts";
import { progress } from "./section.ts";

/** Texts of one kind, each as long as a tool's answer may be. */
export interface SampleTexts {
	readonly kind: string;
	/** Where they come from. */
	readonly source: string;
	readonly texts: readonly string[];
}

const charactersOfKind = 200_000;
const charactersOfText = 8_000;
const installed = `${projectFolder}/node_modules`;
const realOutputs = `${projectFolder}/../shared/data/outputs`;

/**
 * Texts of the kinds that tools answer with. What is not made here stands in the installed packages, which are the same
 * wherever the lock file is installed; real tool results are used where the folder with them is there.
 */
export function sampleTexts(): SampleTexts[] {
	const random = createRandom(20_261_121);
	const samples = [
		sample("English prose", "README files of packages", readmeFiles()),
		sample("code", "TypeScript sources of zod", filesBelow(`${installed}/zod/src/v4/core`, /^[^.]+\.ts$/)),
		sample("JSON", "package.json files", filesBelow(installed, /^package\.json$/)),
		sample("logs", "generated", [logLines(random, charactersOfKind)]),
		sample("Chinese", "generated", [chineseProse(random, charactersOfKind)]),
		sample("base64", "generated", [base64(random, charactersOfKind)]),
		sample("minified JavaScript", "*.min.js of packages", [
			...filesBelow(installed, /\.min\.js$/),
			...filesBelow(`${benchFolder}/node_modules/js-yaml`, /\.min\.js$/),
		]),
	];
	if (existsSync(realOutputs)) {
		samples.push(sample("real tool results", "recorded, not published", filesBelow(realOutputs, /./)));
	} else {
		progress("The folder of real tool results is absent: that row is left out.");
	}
	return samples;
}

/** So many characters of English, or somewhat less where fewer are installed. */
export function englishProse(characters: number): string {
	return Buffer.from(readmeFiles().join("\n").slice(0, characters)).toString("utf8");
}

function readmeFiles(): string[] {
	return filesBelow(installed, /^README\.md$/i);
}

/** Cuts what was read into texts, from each file at most an even share. */
function sample(kind: string, source: string, whole: readonly string[]): SampleTexts {
	const share = Math.max(charactersOfText, charactersOfKind / Math.max(1, whole.length));
	const texts: string[] = [];
	let size = 0;
	for (const text of whole) {
		for (let start = 0; start < Math.min(text.length, share) && size < charactersOfKind; start += charactersOfText) {
			// A text of its own, not a view of the file's, with no half of a surrogate pair at its ends.
			const own = Buffer.from(text.slice(start, Math.min(start + charactersOfText, start + share))).toString("utf8");
			texts.push(own);
			size += own.length;
		}
	}
	return { kind, source, texts };
}

/** The files below a folder whose names match, in the order of their paths. */
function filesBelow(folder: string, name: RegExp): string[] {
	if (!existsSync(folder)) return [];
	return readdirSync(folder, { recursive: true, encoding: "utf8" })
		.filter((path) => name.test(path.split(/[\\/]/).at(-1) ?? ""))
		.sort()
		.map((path) => join(folder, path))
		.filter((path) => statSync(path).isFile())
		.map((path) => readFileSync(path, "utf8"));
}
