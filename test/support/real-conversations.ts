import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** The folder of real conversations beside the checkout; tests that use it skip where it is absent. */
export const realDataFolder = resolve(import.meta.dirname, "../../../shared/data");

export const hasRealData = existsSync(realDataFolder);

if (!hasRealData) process.stderr.write(`Skipping tests on real conversations: ${realDataFolder} is absent.\n`);

export interface RealConversation {
	readonly file: string;
	readonly format: string;
	readonly document: { readonly messages: readonly Record<string, unknown>[] };
}

/** Real conversations of the given formats, as their files hold them. */
export function realConversations(formats: readonly string[]): RealConversation[] {
	if (!hasRealData) return [];
	const root = join(realDataFolder, "conversations");
	return readdirSync(root).flatMap((folder) =>
		readdirSync(join(root, folder)).flatMap((name) => {
			const document = JSON.parse(readFileSync(join(root, folder, name), "utf8"));
			return formats.includes(document.format)
				? [{ file: `${folder}/${name}`, format: document.format, document }]
				: [];
		}),
	);
}
