/** How the upstream behaves in one request. The last one given is repeated. */
export type UpstreamBehaviour =
  | { kind: 'text'; text: string; usage?: UpstreamUsage | 'none'; finish?: string }
  | { kind: 'tools'; calls: readonly UpstreamCall[]; text?: string; finish?: string }
  | { kind: 'status'; status: number; message?: string; headers?: Readonly<Record<string, string>>; code?: string }
  /** Accepts and says nothing, or nothing more after so many tokens. */
  | { kind: 'stall'; text?: string; afterTokens?: number }
  /** Destroys the socket after so many tokens. */
  | { kind: 'cut'; text: string; afterTokens: number }
  /** Ends the response properly, without a finish reason and without `[DONE]`. */
  | { kind: 'unfinished'; text: string }
  /** Breaks off a tool call half-way: the arguments never close. */
  | { kind: 'half-call'; name: string; arguments: string; end: 'cut' | 'clean' }
  | { kind: 'frame-error'; text?: string; error: Readonly<Record<string, unknown>> }
  | { kind: 'garbage' }
  /** A whole completion as JSON, whether streaming was asked for or not. */
  | { kind: 'json'; text: string }
  | { kind: 'redirect'; to: string }
  /** This as JSON, whatever was asked. */
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
}
