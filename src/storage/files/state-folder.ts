import { homedir } from "node:os";
import path from "node:path";

/** This user's folder for state, by the system's convention (https://specifications.freedesktop.org/basedir-spec/latest/). */
export function stateFolder(): string {
	const { platform, env: environment } = process;
	const homeFolder = homedir();
	if (platform === "win32") {
		const local = environment.LOCALAPPDATA || path.win32.join(homeFolder, "AppData", "Local");
		return path.win32.join(local, "palimpsest");
	}
	if (platform === "darwin") return path.posix.join(homeFolder, "Library", "Application Support", "palimpsest");
	const state = environment.XDG_STATE_HOME ?? "";
	const folder = path.posix.isAbsolute(state) ? state : path.posix.join(homeFolder, ".local", "state");
	return path.posix.join(folder, "palimpsest");
}

/** This user's folder for settings and keys. The XDG specification says to ignore relative paths. */
export function settingsFolder(): string {
	const { platform, env: environment } = process;
	const ofUser = (platform === "win32" ? environment.APPDATA : environment.XDG_CONFIG_HOME) ?? "";
	return path.join(path.isAbsolute(ofUser) ? ofUser : path.join(homedir(), ".config"), "palimpsest");
}
