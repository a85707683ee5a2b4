/** Where hosts keep what they are told, on this machine. */
export interface HostSurroundings {
	readonly platform: NodeJS.Platform;
	readonly homeFolder: string;
	/** The project, where the entry is for that alone. */
	readonly projectFolder?: string | undefined;
	readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A program of a host that has several, such as an editor's extension and a command. */
export interface HostProgram {
	/** Its configuration file. */
	readonly file: string;
	/** The folder that is there where the program is. */
	readonly folder: string;
}

/** How a host starts the server. */
export interface ServerStart {
	readonly command: string;
	readonly args: readonly string[];
	/** Environment variables, beside those that the host passes on. */
	readonly env: Readonly<Record<string, string>>;
}

/** A program that can use an MCP server, and how it is told of one. */
export interface Host {
	/** As `palimpsest install` takes it, such as `claude-code`. */
	readonly name: string;
	readonly title: string;
	/** How its configuration is written; `yaml` is entered by hand. */
	readonly format: "json" | "toml" | "yaml";
	/** Where in it the entry stands. */
	readonly key: readonly string[];
	/** Its configuration file; `undefined` where it has none for a project, or none on this platform. */
	readonly file: (where: HostSurroundings) => string | undefined;
	/** Its programs, where it has several with a file each; `file` is that of the first. */
	readonly programs?: (where: HostSurroundings) => readonly HostProgram[];
	readonly entry: (start: ServerStart) => unknown;
	/** What has to be done so that it takes notice. */
	readonly afterwards: string;
	/** Where its documentation says so. */
	readonly source: string;
}
