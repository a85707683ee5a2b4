import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { oneOf } from "./breadth.ts";

/** The folder of real conversations beside the checkout; tests that use it skip where it is absent. */
export const realDataFolder = path.resolve(import.meta.dirname, "../../../shared/data");

export const hasRealData = existsSync(realDataFolder);

if (!hasRealData) process.stderr.write(`Skipping tests on real conversations: ${realDataFolder} is absent.\n`);

export interface RealConversation {
	readonly file: string;
	readonly format: string;
	readonly document: { readonly messages: readonly Record<string, unknown>[] };
}

/** The files that are tested, in order. */
export function chosenFiles(files: readonly string[], kindOf: (file: string) => string = path.extname): string[] {
	const seen = new Map<string, number>();
	return files.toSorted().filter((file) => {
		const kind = kindOf(file);
		const index = seen.get(kind) ?? 0;
		seen.set(kind, index + 1);
		return index % oneOf === 0;
	});
}

export const conversationsFolder = path.join(realDataFolder, "conversations");

/** All conversations, as paths in their folder. */
export function everyConversation(): string[] {
	if (!hasRealData) return [];
	return readdirSync(conversationsFolder).flatMap((source) =>
		readdirSync(path.join(conversationsFolder, source)).map((name) => `${source}/${name}`),
	);
}

/** The conversations that are tested. */
export function chosenConversations(): string[] {
	if (!hasRealData) return [];
	const entries: { readonly file: string; readonly format: string }[] = JSON.parse(
		readFileSync(path.join(realDataFolder, "index.json"), "utf8"),
	);
	const formats = new Map(entries.map(({ file, format }) => [file, format]));
	return chosenFiles(everyConversation(), (file) => `${path.dirname(file)} ${formats.get(`conversations/${file}`)}`);
}

/** The conversations of the given formats, as their files hold them. */
export function realConversations(
	formats: readonly string[],
	files: readonly string[] = chosenConversations(),
): RealConversation[] {
	return files.flatMap((file) => {
		const document = JSON.parse(readFileSync(path.join(conversationsFolder, file), "utf8"));
		return formats.includes(document.format) ? [{ file, format: document.format, document }] : [];
	});
}
