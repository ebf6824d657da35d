// Shows the claims with the chosen verdict.
"use strict";
(() => {
  const show = (verdict) => {
    for (const place of document.querySelectorAll(".place")) {
      const claims = [...place.querySelectorAll("[data-verdict]")];
      for (const claim of claims) claim.hidden = Boolean(verdict) && claim.dataset.verdict !== verdict;
      place.hidden = claims.every((claim) => claim.hidden);
    }
  };
  const picks = [...document.querySelectorAll("input[name=verdict]")];
  picks.forEach((pick) => pick.addEventListener("change", () => show(pick.value)));
  const picked = picks.find((pick) => pick.checked);
  if (picked) show(picked.value);
})();
