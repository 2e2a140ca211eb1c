import { RESERVED_USER_PREFIXES, ServiceError } from '@switchyard/contracts';
import type { ServiceName } from '@switchyard/contracts';
import type { Viewer } from './session-ownership.ts';
import type { SessionIdentity } from './session-key.ts';

/** A client that names a session, and the service that ordered the turn for it. */
export interface SessionCreator extends Viewer {
  orderedBy?: ServiceName | undefined;
}

/** Returns why a client may not create a session of this name, if so. */
export function checkSessionName({ client, sessions, orderedBy }: SessionCreator, { userId }: SessionIdentity): ServiceError | undefined {
  const details = { reason: 'SESSION_NAME' };
  const reserved = RESERVED_USER_PREFIXES.find(({ prefix }) => userId.startsWith(prefix));
  if (reserved) {
    if (isCreator(client, userId, reserved) || reserved.client === `${orderedBy}/`) return undefined;
    const message = `Sessions of users ${reserved.prefix}… are created by the product only, got userId ${userId}. Choose another userId.`;
    return new ServiceError('PERMISSION_DENIED', message, { details });
  }
  if (sessions !== 'own' || userId === client) return undefined;
  // The code is that of a session of another client, so that a client cannot find out which sessions exist.
  const message = `Session not found. This token creates sessions of user ${client} only, got userId ${userId}. Leave userId out.`;
  return new ServiceError('NOT_FOUND', message, { details });
}

/** A webhook creates sessions of its own mapping only: client `webhook/ci`, users `hook:ci:…`. */
function isCreator(client: string, userId: string, { prefix, client: clientPrefix }: (typeof RESERVED_USER_PREFIXES)[number]): boolean {
  return client.startsWith(clientPrefix) && userId.startsWith(`${prefix}${client.slice(clientPrefix.length)}:`);
}

/** Returns whether this is the session that a client uses if it names none: its id, the channel `gateway` and nothing else. */
export function isDefaultSession({ channelId, peerId, guildId, threadId }: SessionIdentity): boolean {
  return channelId === 'gateway' && peerId === undefined && guildId === undefined && threadId === undefined;
}
