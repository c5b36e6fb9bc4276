"""What the fake job services say: how jobs are taken on, how they stand, and what goes wrong, in each one's shapes.

Shapes follow the public documentation of Alibaba Cloud Model Studio and of Black Forest Labs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.fakes.images_truth import picture, revised
from tests.fakes.jobs_checks import Ask, Name
from tests.fakes.jobs_plan import JobPlan
from tests.fakes.service import Reply

Json = dict[str, Any]


@dataclass(slots=True)
class Job:
    """One job that was taken on and paid for.

    Attributes:
        number: How many jobs for the same request came before.
        fate: How it ends other than with an image, by plan.
        url: Where its image is.
    """

    id: str
    ask: Ask
    number: int
    fate: str | None
    url: str
    polls: int = 0


def image(ask: Ask, number: int) -> bytes:
    """The truth: without a seed, every further job draws another picture."""
    return picture(ask.prompt, number if ask.seed is None else ask.seed, ask.size, ask.kind, ask.pictures)


_CODES: dict[str, tuple[int, str, str]] = {
    "http_401": (401, "InvalidApiKey", "Invalid API-key provided."),
    "http_429": (429, "Throttling.RateQuota", "Requests rate limit exceeded, please try again later."),
    "http_429_retry_after": (429, "Throttling", "Requests throttling triggered."),
    "http_500": (500, "InternalError", "An internal error has occured, please try again later."),
    "credits": (400, "Arrearage", "Access denied, please make sure your account is in good standing."),
    "quota": (403, "AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted."),
    "refusal": (400, "DataInspectionFailed", "Input data may contain inappropriate content."),
    "bad_request": (400, "InvalidParameter", "The size is not in the correct format."),
    "wordy": (400, "BadRequest.TooLarge", "Wrong prompt: a safety notice on a credit card."),
    "gone": (404, "NotFound", "The task does not exist."),
}
_DETAILS: dict[str, tuple[int, Any]] = {
    "http_401": (403, "Not authenticated - Invalid Authentication"),
    "http_429": (429, "Rate limit exceeded: 24 active tasks."),
    "http_429_retry_after": (429, "Rate limit exceeded: 24 active tasks."),
    "http_500": (500, "Internal Server Error"),
    "credits": (402, "Insufficient credits."),
    "quota": (402, "Insufficient credits."),
    "refusal": (400, "Request Moderated"),
    "bad_request": (400, "Bad request"),
    "wordy": (422, [{"loc": ["body", "safety_tolerance"], "msg": "Input should be at most 6", "input": "credit"}]),
    "gone": (404, "Task not found"),
}


def wrong(service: Name, fault: str, plan: JobPlan) -> Reply:
    """The reply to a submission or a poll that meets this fault."""
    if fault == "malformed":
        return Reply(fault, 200, '{"output": {"task_', media="application/json")
    if fault == "odd":
        return Reply(fault, 200, {"output": [], "id": None, "status": ["?"], "result": 5})
    if fault == "http_502":
        return Reply(fault, 502, "<html><body><h1>502 Bad Gateway</h1></body></html>")
    wait = str(plan.retry_after) if fault == "http_429_retry_after" else None
    if service == "bfl":
        status, detail = _DETAILS[fault]
        return Reply(fault, status, {"detail": detail}, wait)
    status, code, message = _CODES[fault]
    return Reply(fault, status, {"code": code, "message": message, "request_id": "r"}, wait)


def taken_on(job: Job, plan: JobPlan, here: str) -> Json:
    """The reply to a submission."""
    if job.ask.service == "bfl":
        base = here.replace("127.0.0.1", "localhost") if plan.polling == "elsewhere" else here
        url = {"polling_url": f"{base}/v1/get_result?id={job.id}"} if plan.polling != "nowhere" else {}
        told = {"cost": plan.credits, "input_mp": 0.0, "output_mp": 1.0} if plan.credits is not None else {}
        return {"id": job.id, **url, **told}
    if job.ask.shape == "at_once":
        return {"request_id": "r", "output": _output(job, plan), "usage": {"image_count": 1}}
    return {"request_id": "r", "output": {"task_id": job.id, "task_status": "PENDING"}}


def standing(job: Job, plan: JobPlan) -> Json:
    """The reply to a poll, which this is one of."""
    job.polls += 1
    if job.ask.service == "bfl":
        return _bfl(job, plan)
    if job.fate != "unknown" and job.polls <= plan.polls:
        state = "PENDING" if job.polls == 1 else "RUNNING"
        return {"request_id": "r", "output": {"task_id": job.id, "task_status": state}}
    output = {"task_id": job.id, "task_status": "SUCCEEDED", "end_time": "2026-01-01 00:00:09"}
    if job.fate in ("no_image", "partly_failed"):
        said = {"code": "DataInspectionFailed", "message": "Output data may contain inappropriate content."}
        results = [said] if job.fate == "partly_failed" else []
        return {"request_id": "r", "output": {**output, "results": results}, "usage": {"image_count": 0}}
    if job.fate == "unknown":
        return {"request_id": "r", "output": {"task_id": job.id, "task_status": "UNKNOWN"}}
    if job.fate is not None:
        code, message = {
            "failed": ("InternalError.Algo", "Failed to draw."),
            "throttled": ("Throttling", "Too many requests."),
            "invalid": ("InvalidParameter", "The prompt cannot be read."),
        }.get(job.fate, ("DataInspectionFailed", "Input data may contain inappropriate content."))
        return {"output": {"task_id": job.id, "task_status": "FAILED", "code": code, "message": message}}
    return {"request_id": "r", "output": {**output, **_output(job, plan)}, "usage": {"image_count": 1}}


def _output(job: Job, plan: JobPlan) -> Json:
    if job.ask.shape == "prompt":
        rewritten = {"actual_prompt": revised(job.ask.prompt)} if plan.revise else {}
        return {"results": [{"orig_prompt": job.ask.prompt, **rewritten, "url": job.url}]}
    content = [{"image": job.url, "type": "image"}]
    message = {"role": "assistant", "content": content}
    return {"choices": [{"finish_reason": "stop", "message": message}], "finished": True}


def _bfl(job: Job, plan: JobPlan) -> Json:
    ends = {
        "failed": "Error",
        "throttled": "Error",
        "invalid": "Error",
        "moderated": "Request Moderated",
        "moderated_image": "Content Moderated",
        "unknown": "Task not found",
    }
    why = {"Moderation Reasons": ["Derivative Works Filter"]} if job.fate and "moder" in job.fate else None
    if job.fate == "unknown" or (job.fate in ends and job.polls > plan.polls):
        return {"id": job.id, "status": ends[job.fate], "result": None, "progress": None, "details": why}
    if job.polls <= plan.polls:
        return {"id": job.id, "status": "Pending", "result": None, "progress": 0.5, "details": None}
    if job.fate is not None:
        return {"id": job.id, "status": "Error", "result": None, "details": {"error": "no image"}}
    prompt = revised(job.ask.prompt) if plan.revise else job.ask.prompt
    result = {"sample": job.url, "prompt": prompt, "seed": job.ask.seed or job.number, "duration": 4.2}
    return {"id": job.id, "status": "Ready", "result": result, "progress": 1.0, "details": None}
