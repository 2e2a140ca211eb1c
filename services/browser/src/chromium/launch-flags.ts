/**
 * The flags of every Chromium. Playwright's defaults are not used, because they turn the sandbox off and keep loopback requests out of the
 * proxy. `<-loopback>` sends these through the proxy too, which refuses them. Chromium resolves no names itself.
 */
export function listLaunchFlags(profile: string, proxy: string): string[] {
  const { host } = new URL(proxy);
  return [
    '--headless',
    '--remote-debugging-pipe',
    `--user-data-dir=${profile}`,
    `--proxy-server=http://${host}`,
    '--proxy-bypass-list=<-loopback>',
    '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1',
    '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--webrtc-ip-handling-policy=disable_non_proxied_udp',
    '--disable-quic',
    `--disable-features=${DISABLED_FEATURES.join(',')}`,
    ...QUIET_FLAGS,
  ];
}

const DISABLED_FEATURES = [
  'AutofillServerCommunication',
  'CertificateTransparencyComponentUpdater',
  'DialMediaRouteProvider',
  'GlobalMediaControls',
  'InterestFeedContentSuggestions',
  'MediaRouter',
  'OptimizationHints',
  'Translate',
];

/** No traffic of Chromium's own, no prompts, no start window. */
const QUIET_FLAGS = [
  '--deny-permission-prompts',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-gpu',
  '--disable-search-engine-choice-screen',
  '--disable-sync',
  '--hide-scrollbars',
  '--metrics-recording-only',
  '--mute-audio',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
  '--no-service-autorun',
  '--no-startup-window',
  '--password-store=basic',
  '--use-mock-keychain',
];
