import { serveSockets } from './sockets.ts';

serveSockets((message, send) => send(message));
