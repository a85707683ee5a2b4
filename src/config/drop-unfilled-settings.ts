/**
 * Takes those variables out of an environment that a host left as the name of a setting: Claude Desktop starts a bundle
 * with `PALIMPSEST_ARCHIVE=${user_config.archive_folder}`, to the letter, where its user left that setting empty.
 */
export function dropUnfilledSettings(environment: NodeJS.ProcessEnv): void {
	for (const [name, value] of Object.entries(environment)) {
		if (name.startsWith("PALIMPSEST_") && /^\$\{[^{}]*\}$/.test(value ?? "")) delete environment[name];
	}
}
