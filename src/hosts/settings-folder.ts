import path from "node:path";
import type { HostSurroundings } from "./host.ts";

/** The folder in which programs of the user keep their settings: `Application Support`, `%APPDATA%` or `~/.config`. */
export function settingsFolder({ platform, homeFolder, environment }: HostSurroundings): string {
	switch (platform) {
		case "darwin":
			return path.join(homeFolder, "Library", "Application Support");
		case "win32":
			return environment.APPDATA || path.join(homeFolder, "AppData", "Roaming");
		default:
			return environment.XDG_CONFIG_HOME || path.join(homeFolder, ".config");
	}
}
