/** Returns the name of an agent, which it chooses itself, with the host that describes it. A client of the configuration has no host. */
export const agentName = ({ name, host }: { name: string; host: string }): string => (host === '' ? name : `${name} (${host})`);
