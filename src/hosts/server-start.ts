import type { ServerStart } from "./host.ts";

/** What the user may choose when the server is entered in a host. */
export interface StartChoices {
	readonly preset?: string | undefined;
	readonly locale?: string | undefined;
	/** Where originals are kept, as `--archive`. */
	readonly archive?: string | undefined;
	/** Program and first arguments in place of npm's: a checkout, or an installation of one's own. */
	readonly command?: readonly string[] | undefined;
	readonly platform: NodeJS.Platform;
}

/** How a host is told to start the server: by npx, which on Windows is a script that only a shell can run. */
export function serverStart({ preset, locale, archive, command, platform }: StartChoices): ServerStart {
	const fromNpm = ["npx", "-y", "palimpsest-mcp"];
	const [program = "npx", ...args] = command ?? (platform === "win32" ? ["cmd", "/c", ...fromNpm] : fromNpm);
	const named = { PALIMPSEST_PRESET: preset, PALIMPSEST_LOCALE: locale, PALIMPSEST_ARCHIVE: archive };
	const env = Object.fromEntries(Object.entries(named).flatMap(([name, value]) => (value ? [[name, value]] : [])));
	return { command: program, args, env };
}
