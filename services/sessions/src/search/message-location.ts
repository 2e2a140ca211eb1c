/** Where something was said: enough to find it, and to know whether it is still there. */
export interface Place {
  turnId: string;
  /** Which of the things that were said in its turn. */
  at: number;
  /** The number of the turn in its session. */
  seq: number;
  epoch: string;
  sessionKey: string;
}

/** A place as the index names it. A key may hold anything, so it stands last. */
export function nameOf({ turnId, at, seq, epoch, sessionKey }: Place): string {
  return `${turnId} ${at} ${seq} ${epoch} ${sessionKey}`;
}

export function readName(name: string): Place {
  const [turnId = '', at, seq, epoch = '', ...key] = name.split(' ');
  return { turnId, at: Number(at), seq: Number(seq), epoch, sessionKey: key.join(' ') };
}
