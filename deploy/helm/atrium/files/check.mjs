// Run by `helm test`, in a pod of the service's own image: speaks to the Services as others do.
const { CONSOLE_URL, METRICS_URL, VERSION, WAIT_SECONDS } = process.env;

async function check(what, url, isRight) {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(5_000) });
  const body = await response.text();
  if (response.status !== 200 || !isRight(body)) throw new Error(`${what}: ${url} answered ${response.status}: ${body.slice(0, 200)}`);
  console.log(`ok: ${what}`);
}

const deadline = Date.now() + Number(WAIT_SECONDS) * 1000;
for (;;) {
  try {
    await check('the console is described', `${CONSOLE_URL}/api/v1/modules`, (body) => typeof JSON.parse(body) === 'object');
    await check('the languages are told', `${CONSOLE_URL}/api/v1/i18n/languages`, (body) => typeof JSON.parse(body) === 'object');
    if (VERSION) await check('it is the version of the chart', `${CONSOLE_URL}/version`, (body) => body.includes(VERSION));
    if (METRICS_URL) {
      await check('it is ready', `${METRICS_URL}/readyz?verbose`, (body) => body.includes('[+]kubernetes ok'));
      await check('its metrics are told', `${METRICS_URL}/metrics`, (body) => body.includes('# TYPE '));
    }
    break;
  } catch (error) {
    if (Date.now() > deadline) throw error;
    console.log(`not yet: ${error.message}`);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
}
