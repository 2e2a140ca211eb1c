const EXPLORER = 'called on the API explorer page';
const NO_PAGE_YET = `no page of its own yet; ${EXPLORER}`;

/** Namespaces of which no page calls a method, with the reason. */
export const NAMESPACES_WITHOUT_PAGE: Readonly<Record<string, string>> = {
  system: '/readyz tells more than system.ping',
  subagent: NO_PAGE_YET,
  context: NO_PAGE_YET,
  scheduler: NO_PAGE_YET,
  browser: 'agents drive the browser; a person has one already',
  audio: NO_PAGE_YET,
  media: NO_PAGE_YET,
  'media.test': NO_PAGE_YET,
  image: NO_PAGE_YET,
  tts: NO_PAGE_YET,
  link: NO_PAGE_YET,
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
  skills: NO_PAGE_YET,
  obs: NO_PAGE_YET,
  'obs.billing': NO_PAGE_YET,
  'obs.channels': NO_PAGE_YET,
  'obs.delivery': NO_PAGE_YET,
  'obs.reset': NO_PAGE_YET,
  'obs.context': NO_PAGE_YET,
  'obs.trace': NO_PAGE_YET,
  'obs.fleet': NO_PAGE_YET,
};

/** Namespaces whose page calls some of their methods, with the reason for the others. */
export const PARTLY_ON_PAGES: Readonly<Record<string, string>> = {
  agent: 'the chat streams; agent.execute, agent.start and agent.attach serve other clients',
  session: EXPLORER,
  'admin.approval': EXPLORER,
  config: 'config.patch covers config.set and config.apply; the others are for scripts',
  agents: EXPLORER,
  models: EXPLORER,
  gateway: EXPLORER,
  tokens: EXPLORER,
  memory: EXPLORER,
  cron: EXPLORER,
  heartbeat: EXPLORER,
  graph: EXPLORER,
};
