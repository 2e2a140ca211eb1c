/** Location of a message, with the epoch and sequence number that show whether it still exists. */
export interface Place {
  turnId: string;
  /** Index of the message within its turn. */
  at: number;
  /** Sequence number of the turn in its session. */
  seq: number;
  epoch: string;
  sessionKey: string;
}

/** Returns the index id of a location. The session key is last, because it can contain any character. */
export function getName({ turnId, at, seq, epoch, sessionKey }: Place): string {
  return `${turnId} ${at} ${seq} ${epoch} ${sessionKey}`;
}

export function readName(name: string): Place {
  const [turnId = '', at, seq, epoch = '', ...key] = name.split(' ');
  return { turnId, at: Number(at), seq: Number(seq), epoch, sessionKey: key.join(' ') };
}
