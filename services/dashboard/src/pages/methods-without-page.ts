const EXPLORER = 'called on the API explorer page';
const NO_PAGE_YET = `no page of its own yet; ${EXPLORER}`;

/** Namespaces of which no page calls a method, with the reason. */
export const NAMESPACES_WITHOUT_PAGE: Readonly<Record<string, string>> = {
  system: '/readyz tells more than system.ping',
  scheduler: EXPLORER,
  audio: 'agents transcribe audio; the Media page tests it',
  image: EXPLORER,
  tts: 'agents speak; the Media page tests it',
  link: 'agents read links; the Media page tests it',
  channels: NO_PAGE_YET,
  discord: NO_PAGE_YET,
  telegram: NO_PAGE_YET,
  slack: NO_PAGE_YET,
  whatsapp: NO_PAGE_YET,
  message: NO_PAGE_YET,
  notification: NO_PAGE_YET,
  'delivery.queue': NO_PAGE_YET,
  workspace: NO_PAGE_YET,
  'workspace.git': NO_PAGE_YET,
  mcp: NO_PAGE_YET,
  'obs.reset': EXPLORER,
  'obs.context': EXPLORER,
};

/** Namespaces whose page calls some of their methods, with the reason for the others. */
export const PARTLY_ON_PAGES: Readonly<Record<string, string>> = {
  agent: 'the chat streams; agent.execute, agent.start and agent.attach serve other clients',
  session: EXPLORER,
  context: EXPLORER,
  'admin.approval': EXPLORER,
  config: 'config.patch covers config.set and config.apply; the others are for scripts',
  agents: EXPLORER,
  models: EXPLORER,
  gateway: EXPLORER,
  tokens: EXPLORER,
  memory: EXPLORER,
  heartbeat: 'heartbeat settings are part of the configuration of an agent',
  graph: EXPLORER,
  browser: 'agents drive the browser; a person watches it',
  media: EXPLORER,
  'media.test': EXPLORER,
  obs: EXPLORER,
  'obs.billing': 'the Runs page has the cost of a session',
  'obs.channels': EXPLORER,
  'obs.delivery': EXPLORER,
};
