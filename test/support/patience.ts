/** For what happens in its own time, in ms: machines are slow at times, and a test that waits no longer than it must ends as soon. */
export const patience = { timeout: 60_000 };
