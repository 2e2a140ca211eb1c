import type { Sections } from '@switchyard/contracts';

type Webhooks = Sections['webhooks'];

/** A built-in mapping, and the signature header of its sender. */
export interface Preset {
  mapping: Partial<Webhooks['mappings'][number]>;
  signatureHeader?: string;
}

export const PRESETS: Readonly<Record<Webhooks['presets'][number], Preset>> = {
  gmail: {
    mapping: {
      id: 'gmail',
      match: { path: 'gmail' },
      sessionKey: 'hook:gmail:{{payload.messages[0].id}}',
      messageTemplate: [
        'New mail from {{payload.messages[0].from}}',
        'Subject: {{payload.messages[0].subject}}',
        '{{payload.messages[0].snippet}}',
        '{{payload.messages[0].body}}',
      ].join('\n'),
    },
  },
  github: {
    mapping: {
      id: 'github',
      match: { path: 'github' },
      sessionKey: 'hook:github:{{headers.x-github-delivery}}',
      messageTemplate:
        'GitHub event {{headers.x-github-event}} in {{payload.repository.full_name}}: {{payload.action}} by {{payload.sender.login}}',
    },
    signatureHeader: 'x-hub-signature-256',
  },
};
