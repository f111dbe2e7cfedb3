import { expect } from 'chai';
import { forSuite } from '../../support/for-suite.ts';
import { startOfflineConsole } from './offline-console.ts';

describe('HandleLanguages', () => {
  const languages = [
    { id: 'zh-Hans', name: '简体中文' },
    { id: 'en', name: 'English' },
  ];
  const server = forSuite(() => startOfflineConsole({ config: { console: { languages } } }));

  it('lists the languages in the order of the configuration, with no API server', async () => {
    const response = await fetch(`${server.url}/api/v1/i18n/languages`);

    expect(response.status).to.equal(200);
    expect(response.headers.get('content-type')).to.equal('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).to.equal('public, max-age=3600');
    expect(response.headers.get('warning')).to.equal(null);
    expect(await response.json()).to.deep.equal({ availableLanguages: languages });
  });

  it('answers 304 to clients that have the list', async () => {
    const etag = (await fetch(`${server.url}/api/v1/i18n/languages`)).headers.get('etag') ?? '';
    const again = await fetch(`${server.url}/api/v1/i18n/languages`, { headers: { 'If-None-Match': etag } });

    expect(etag).to.match(/^"[0-9a-f]{32}"$/);
    expect(again.status).to.equal(304);
  });

  it('never looks at a credential', async () => {
    const response = await fetch(`${server.url}/api/v1/i18n/languages`, { headers: { Authorization: 'Bearer garbage' } });

    expect(response.status).to.equal(200);
    expect(response.headers.get('vary')).to.equal(null);
  });
});
