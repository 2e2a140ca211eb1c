/** The behaviour of the upstream in one request. */
export type UpstreamBehaviour =
  | { kind: 'text'; text: string; usage?: UpstreamUsage | 'none'; finish?: string }
  | { kind: 'tools'; calls: readonly UpstreamCall[]; text?: string; finish?: string; fields?: Readonly<Record<string, string>> }
  | { kind: 'status'; status: number; message?: string; headers?: Readonly<Record<string, string>>; code?: string }
  /** Accepts the request and sends nothing, or stops after `afterTokens`. */
  | { kind: 'stall'; text?: string; afterTokens?: number }
  /** Destroys the socket after `afterTokens`. */
  | { kind: 'cut'; text: string; afterTokens: number }
  /** Ends the response properly, without a finish reason and without `[DONE]`. */
  | { kind: 'unfinished'; text: string }
  /** Ends in the middle of a tool call; its arguments are incomplete JSON. */
  | { kind: 'half-call'; name: string; arguments: string; end: 'cut' | 'clean' }
  | { kind: 'frame-error'; text?: string; error: Readonly<Record<string, unknown>> }
  | { kind: 'garbage' }
  /** Sends a JSON completion even if streaming was requested. */
  | { kind: 'json'; text: string }
  | { kind: 'redirect'; to: string }
  /** Sends this JSON body for every request. */
  | { kind: 'answer'; body: unknown };

export interface UpstreamUsage {
  prompt: number;
  completion: number;
  cached?: number;
}

export interface UpstreamCall {
  name: string;
  /** An object is sent as JSON; text is sent as it is. */
  arguments: unknown;
  /** Further fields of the call. */
  fields?: Readonly<Record<string, unknown>>;
}
