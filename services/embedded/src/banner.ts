/** What the banner tells. */
export interface Served {
  version: string;
  url: string;
  bus: string;
  data: string;
  services: string[];
  seconds: number;
  provider: string;
  token: string;
  /** How the command is called from here, for this data. */
  command: string;
}

/** What a newcomer reads first: only what exists, each command as it can be pasted. */
export function banner(run: Served): string {
  const { url, bus, data, services, seconds, provider, token, command } = run;
  const rows: [label: string, text: string][] = [
    ['bus', bus === 'memory:' ? 'in-process                (SWITCHYARD_BUS=nats://… for a real one)' : withoutCredentials(bus)],
    ['services', `${services.join(' ')}   ${services.length}/${services.length} ready in ${seconds.toFixed(1)} s`],
    ['provider', provider],
    ['API', `${url}        JSON-RPC /rpc /ws · chat /api/chat · OpenAI /v1 · contract /openrpc.json`],
    ['token', `${token}  scopes *   saved in ${data}/token`],
  ];
  return [
    `switchyard ${run.version}  all services in one process; data in ${data}`,
    ...rows.map(([label, text]) => `  ${label.padEnd(10)} ${text}`),
    'Try:',
    `  ${command} ask "hello"`,
    `  ${command} rpc session.history channelId=gateway`,
    `  curl -sN "${url}/api/chat/stream?message=hello&token=$(${command} token)"`,
    '',
  ].join('\n');
}

/** A bus URL may hold a password; the banner is for screens. */
export function withoutCredentials(url: string): string {
  return url.replaceAll(/(\/\/|,)[^@/,]*@/g, '$1');
}
