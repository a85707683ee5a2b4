import path from "node:path";

/** What tells where a program of this user keeps its state. */
export interface Surroundings {
	readonly platform: NodeJS.Platform;
	readonly environment: Readonly<Record<string, string | undefined>>;
	readonly homeFolder: string;
}

/**
 * The folder of archives where none is named: of the user's state, by the custom of the system
 * (https://specifications.freedesktop.org/basedir-spec/latest/, relative paths in it do not count).
 */
export function archiveFolderOf({ platform, environment, homeFolder }: Surroundings): string {
	if (platform === "win32") {
		const local = environment.LOCALAPPDATA || path.win32.join(homeFolder, "AppData", "Local");
		return path.win32.join(local, "palimpsest", "archive");
	}
	if (platform === "darwin") {
		return path.posix.join(homeFolder, "Library", "Application Support", "palimpsest", "archive");
	}
	const state = environment.XDG_STATE_HOME ?? "";
	const folder = path.posix.isAbsolute(state) ? state : path.posix.join(homeFolder, ".local", "state");
	return path.posix.join(folder, "palimpsest", "archive");
}
