import { createHmac } from "node:crypto";

/** Of a terminal or a session: they change from start to start, and name no account. */
const ofSession =
	/^(?:_|PATH|PWD|OLDPWD|SHLVL|TERM(?:_.*)?|COLORTERM|COLUMNS|LINES|DISPLAY|WAYLAND_DISPLAY|WINDOWID|XDG_SESSION_.*|SSH_(?:AUTH_SOCK|AGENT_PID|CLIENT|CONNECTION|TTY)|TMUX.*|ZELLIJ.*|VSCODE_.*|(?:ITERM|KITTY|WEZTERM|GNOME_TERMINAL|DBUS|XPC|npm)_.*|XDG_RUNTIME_DIR|SECURITYSESSIONID|ELECTRON_.*|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID|CLAUDE_CODE_(?:SSE_PORT|ENTRYPOINT))$/;

/**
 * The name under which the originals of a server are archived: that of its entry in the host's configuration where it is
 * known, so that a new token leaves them readable. Else of its command line and environment: another account is another
 * server. Other folders, such as those of projects, are kept apart. The key makes it useless for guesses at the environment.
 */
export function ownerOf(server: {
	readonly entry: string | undefined;
	readonly words: readonly string[];
	readonly folder: string;
	readonly environment: Readonly<Record<string, string | undefined>>;
	readonly key: Buffer;
}): string {
	const { entry, words, folder, environment, key } = server;
	const variables = Object.entries(environment).filter(([name]) => !ofSession.test(name));
	const known = entry === undefined ? { words, variables: variables.sort() } : { entry };
	const hash = createHmac("sha256", key).update(JSON.stringify({ folder, ...known }));
	return hash.digest("hex").slice(0, 32);
}
