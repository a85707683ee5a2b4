// Every start of the program loads this file, so it imports nothing.

/** Claude Desktop passes `PALIMPSEST_ARCHIVE=${user_config.archive_folder}` literally if that setting is empty. */
export function dropUnfilledSettings(environment: NodeJS.ProcessEnv): void {
	for (const [name, value] of Object.entries(environment)) {
		if (name.startsWith("PALIMPSEST_") && /^\$\{[^{}]*\}$/.test(value ?? "")) delete environment[name];
	}
}
