/** The token of this browser, as `POST /api/sign-in` returns it. */
export interface BrowserToken {
  id: string;
  token: string;
  scopes: string[];
  expiresAt: string;
}

const KEY = 'switchyard:browser-token';
/** Time that other tabs have to hand over their token. They answer within one event loop turn. */
const HANDOVER_TIMEOUT_MS = 300;

type Message = { type: 'request' } | { type: 'token'; token: BrowserToken } | { type: 'signed-out'; id: string };

const channel = new BroadcastChannel(KEY);
const listeners = new Set<() => void>();
/** Used alone while the browser denies storage. */
let current: BrowserToken | undefined = readStored();

channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  if (data.type === 'request' && current !== undefined) channel.postMessage({ type: 'token', token: current } satisfies Message);
  if (data.type === 'token' && current === undefined) store(data.token);
  if (data.type === 'signed-out' && data.id === current?.id) store(undefined);
});

export function getToken(): BrowserToken | undefined {
  return current;
}

/** Calls the listener after each change of the token. */
export function onTokenChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Forgets the token in all tabs of this browser. */
export function signOut(): void {
  if (current === undefined) return;
  channel.postMessage({ type: 'signed-out', id: current.id } satisfies Message);
  store(undefined);
}

/** Takes the ticket out of the address and exchanges it. Without a ticket another tab hands over its token. */
export async function signInAtStart(): Promise<void> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get('ticket');
  if (ticket !== null) {
    history.replaceState(history.state, '', location.pathname + location.search);
    await signIn(ticket);
  } else if (current === undefined) await requestToken();
}

/** Accepts a link of `switchyard dashboard` or its ticket. */
export async function signIn(text: string): Promise<void> {
  const ticket = /ticket_[0-9A-Za-z]+/.exec(text)?.[0];
  if (ticket === undefined) throw new Error('Paste the link that switchyard dashboard prints.');
  const response = await fetch('/api/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ticket }),
  });
  if (response.status === 401) throw new Error('The link was used already or is older than one minute. Print another one.');
  if (response.status === 403) throw new Error('The token of this link has no scope admin, which the dashboard requires.');
  if (!response.ok) throw new Error(`The gateway refused the link: HTTP ${response.status}.`);
  const token = (await response.json()) as BrowserToken;
  store(token);
  channel.postMessage({ type: 'token', token } satisfies Message);
}

function requestToken(): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unsubscribe();
      clearTimeout(timer);
      resolve();
    };
    const unsubscribe = onTokenChange(done);
    const timer = setTimeout(done, HANDOVER_TIMEOUT_MS);
    channel.postMessage({ type: 'request' } satisfies Message);
  });
}

function store(token: BrowserToken | undefined): void {
  current = token;
  try {
    if (token === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(token));
  } catch {
    // The browser denies storage. The token stays in memory.
  }
  for (const listener of listeners) listener();
}

function readStored(): BrowserToken | undefined {
  try {
    const text = sessionStorage.getItem(KEY);
    return text === null ? undefined : (JSON.parse(text) as BrowserToken);
  } catch {
    return undefined;
  }
}
