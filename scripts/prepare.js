// npm runs this for several of its commands. `npm link` puts the command of this checkout on the PATH, and so builds it first; the
// other commands leave the build alone.
if (process.env.npm_command === "link") {
	await import("./copy-assets.js");
	await import("./build.js");
}
