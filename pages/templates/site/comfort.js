"use strict";
// Everything works without this: it shows the store while the slider moves, as the button would.
for (const form of document.querySelectorAll("form[data-follow]")) {
  const slider = form.querySelector("input[type=range]");
  const output = form.querySelector("output");
  let waiting = 0;
  let latest = 0;
  const follow = async () => {
    const asked = ++latest;
    const address = form.getAttribute("action") + "?" + new URLSearchParams(new FormData(form));
    const answer = await fetch(address);
    if (!answer.ok || asked !== latest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of form.dataset.follow.split(" ")) {
      document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes);
    }
    document.title = page.title;
    history.replaceState(null, "", address);
  };
  slider.addEventListener("input", () => {
    output.value = slider.value;
    clearTimeout(waiting);
    waiting = setTimeout(follow, 150);
  });
}
