// Every start of the program loads this file, so it imports nothing.

/**
 * Removes the variables in which a host left the name of a setting in place of a value: Claude Desktop starts a bundle
 * with `PALIMPSEST_ARCHIVE=${user_config.archive_folder}`, literally, where its user left that setting empty.
 */
export function dropUnfilledSettings(environment: NodeJS.ProcessEnv): void {
	for (const [name, value] of Object.entries(environment)) {
		if (name.startsWith("PALIMPSEST_") && /^\$\{[^{}]*\}$/.test(value ?? "")) delete environment[name];
	}
}
