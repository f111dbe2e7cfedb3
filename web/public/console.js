/** The page: each section asks one operation and shows its answer. */
import { ask, askJson, base, hasToken, useToken } from './api.js';
import { definitions, element, empty, failure, show, table, textOf } from './elements.js';
import { finishVisit, loggedIn, logIn, logOut, onChangeElsewhere, readPerson } from './session.js';

const pageSize = 10;

/** Fills a section; what goes wrong is shown in its place. */
async function fill(id, make) {
  try {
    show(id, ...[await make()].flat());
  } catch (error) {
    show(id, failure(error));
    if (error.code === 401 && !hasToken()) await onRefusal();
  }
}

const isSomebody = () => hasToken() || loggedIn() !== undefined;

const shown = (value) => (value === '' ? '(empty)' : String(value));

const modules = () =>
  fill('modules', async () => {
    const { environment, ...fields } = await askJson('api/v1/modules');
    const pairs = environment.map(({ key, value }) => `${key}=${value}`);
    return definitions([
      ...Object.entries(fields).map(([name, value]) => [name, shown(value)]),
      ['environment', pairs.join('\n') || '(none)'],
    ]);
  });

const environment = () =>
  fill('envs', async () => definitions(Object.entries(await askJson('api/v1/envs')).map(([name, value]) => [name, shown(value)])));

const languages = () =>
  fill('languages', async () => {
    const { availableLanguages } = await askJson('api/v1/i18n/languages');
    const items = availableLanguages.map(({ id, name }) => Object.assign(element('li', `${name} · ${id}`), { lang: id }));
    return element('ul.chips', ...items);
  });

const plugins = () =>
  fill('plugins', async () => {
    const { items, metadata } = await askJson('api/v1/console-plugins');
    if (items.length === 0) return empty('No plugin files that you may see.');
    const files = items.map(({ plugin, path, contents, encoding, contentType, sha256 }) =>
      element(
        'details',
        element('summary', element('span.mono', path), element('span', `${plugin} · ${contentType} · sha256 ${sha256.slice(0, 12)}…`)),
        element('pre', encoding === 'utf-8' ? contents : `(${contents.length} characters of base64)`),
      ),
    );
    const left = metadata.remainingItemCount ? [empty(`${metadata.remainingItemCount} more were left out.`)] : [];
    return [...files, ...left];
  });

/**
 * Without a token the browser asks by itself, as the pages of a console do. With one the bytes are asked for and drawn: an address of
 * our own making (`blob:`) would need a weaker policy.
 */
const image = () =>
  fill('image', async () => {
    const path = `api/v1/cm/${encodeURIComponent(textOf('image-name'))}/${encodeURIComponent(textOf('image-key'))}`;
    const response = await ask(path);
    const bytes = await response.blob();
    const caption = element(
      'figcaption',
      definitions([
        ['type', bytes.type],
        ['bytes', String(bytes.size)],
        ['ETag', response.headers.get('ETag') ?? ''],
        ['Cache-Control', response.headers.get('Cache-Control') ?? ''],
      ]),
    );
    return element(
      'figure',
      hasToken() ? await drawn(bytes) : Object.assign(element('img'), { src: new URL(path, base).href, alt: 'The image' }),
      caption,
    );
  });

async function drawn(bytes) {
  try {
    const bitmap = await createImageBitmap(bytes);
    const canvas = Object.assign(element('canvas'), { width: bitmap.width, height: bitmap.height });
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    return canvas;
  } catch {
    return empty('Received; this browser draws such an image only by address.');
  }
}

const who = () =>
  fill('who', async () => {
    const button = (id) => document.getElementById(id);
    button('log-in').hidden = loggedIn() !== undefined;
    button('log-out').hidden = loggedIn() === undefined;
    try {
      const person = hasToken() ? await askJson('api/v2/token/info') : loggedIn();
      show('state', person?.name ?? 'Anonymous');
      return person ? [...dues(person), known(person)] : element('p', 'Nobody in particular: you see what everybody may see.');
    } catch (error) {
      show('state', error.code === 401 ? 'Not accepted' : 'Out of reach');
      throw error;
    }
  });

const dues = ({ ext }) =>
  ext.must_change_password
    ? [element('p.notice.bad', element('strong', 'Password due'), ' It has to be changed before anything else.')]
    : [];

const known = ({ name, email, groups, ext }) =>
  definitions([
    ['by', hasToken() ? 'bearer token' : 'log-in'],
    ['name', ext.display_name ? `${ext.display_name} (${name})` : name],
    ['e-mail', email ?? '–'],
    ['groups', groups.join(', ') || '(none)'],
    ['account', [ext.connector_id, ext.phase].filter(Boolean).join(', ') || '–'],
    // The backend renews a session in time.
    ...(hasToken() && ext.expires_at ? [['until', new Date(ext.expires_at).toLocaleString()]] : []),
  ]);

async function users(page = 1) {
  if (!isSomebody()) return show('users', empty('Log in as somebody who may list users.'));
  await fill('users', async () => {
    const filter = textOf('users-filter').replaceAll(',', '\\,');
    const query = new URLSearchParams({ limit: String(pageSize), page: String(page), sortBy: textOf('users-sort') });
    if (filter !== '') query.set('filterBy', `username,${filter}`);
    const { items, total } = await askJson(`auth/v2/users?${query}`);
    const rows = items.map(({ spec, status }) => [
      spec.username || '–',
      spec.email,
      spec.connector_name || '–',
      status?.phase ?? '–',
      status?.lastLoginTime ? new Date(status.lastLoginTime).toLocaleString() : 'never',
    ]);
    if (rows.length === 0) return empty('Nobody matches.');
    return [table(['Display name', 'Email', 'Source', 'Phase', 'Last log-in'], rows), pager(page, total)];
  });
}

function pager(page, total) {
  const pages = Math.max(1, Math.ceil(total / pageSize));
  const turn = (label, to) => {
    const button = Object.assign(element('button.quiet', label), { type: 'button', disabled: to < 1 || to > pages });
    button.addEventListener('click', () => users(to));
    return button;
  };
  return element(
    'div.row.pager',
    turn('Back', page - 1),
    element('p', `Page ${page} of ${pages}, ${total} in all`),
    turn('Next', page + 1),
  );
}

async function review() {
  if (!isSomebody()) return show('review', empty('Log in: the cluster answers for whoever asks.'));
  await fill('review', async () => {
    const [verb, resource, group, namespace] = ['verb', 'resource', 'group', 'namespace'].map((name) => textOf(`review-${name}`));
    const body = { spec: { resourceAttributes: { verb, resource, group, ...(namespace && { namespace }) } } };
    const { status } = await askJson('auth/v1/selfsubjectaccessreviews', { method: 'POST', body });
    const verdict = status.allowed
      ? element('p.notice.good', element('strong', 'Yes,'))
      : element('p.notice.bad', element('strong', 'No,'));
    verdict.append(` ${status.reason || status.evaluationError || (status.allowed ? 'you may.' : 'no role allows it.')}`);
    return verdict;
  });
}

const refresh = () => Promise.all([who(), modules(), environment(), languages(), plugins(), image(), users(), review()]);

/** Does what concerns the log-in; what goes wrong with it stands above all else. */
async function attempt(act) {
  try {
    await act();
  } catch (error) {
    show('problem', failure(error));
  }
}

/** A session can end at any time and anywhere: whoever is refused asks whether it has. */
async function onRefusal() {
  const before = loggedIn();
  await attempt(readPerson);
  if (before === undefined || loggedIn() !== undefined) return;
  show('problem', failure({ reason: 'Logged out', message: 'Your session is over. Log in again.' }));
  await refresh();
}

function onSubmit(id, act) {
  document.getElementById(id).addEventListener('submit', async (event) => {
    event.preventDefault();
    await act();
  });
}

function onClick(id, act) {
  document.getElementById(id).addEventListener('click', async () => {
    show('problem');
    await attempt(act);
  });
}

onClick('log-in', logIn);
onClick('log-out', async () => {
  const next = await logOut();
  if (next === undefined) await refresh();
  else location.assign(next);
});
onChangeElsewhere(async () => {
  show('problem');
  await attempt(readPerson);
  await refresh();
});
onSubmit('image-form', image);
onSubmit('users-form', () => users());
onSubmit('review-form', review);
onSubmit('token-form', () => {
  useToken(textOf('token'));
  return refresh();
});
document.getElementById('token-form').addEventListener('reset', async () => {
  useToken('');
  await refresh();
});

await attempt(async () => {
  if ((await finishVisit()) === 'cancelled')
    show('problem', Object.assign(element('p.notice', 'You cancelled the login.'), { role: 'status' }));
});
if (loggedIn() === undefined) await attempt(readPerson);
await refresh();
