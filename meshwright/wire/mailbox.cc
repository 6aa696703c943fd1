#include "meshwright/wire/mailbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/time/time.h"
#include "meshwright/base/check.h"
#include "meshwright/base/status_macros.h"
#include "meshwright/base/steady_time.h"

namespace meshwright {

class MailboxTransfer : public Transfer {
 public:
  MailboxTransfer(Mailbox* mailbox, Health* health, Mailbox::Route route,
                  Mailbox::PostPtr post)
      : mailbox_(mailbox),
        health_(health),
        route_(route),
        post_(std::move(post)) {}
  ~MailboxTransfer() override { mailbox_->Withdraw(route_, post_); }

  absl::Status Await() override {
    const int peer = route_.from == health_->rank() ? route_.to : route_.from;
    const auto deadline = AsSteady(SteadyNow() + health_->timeout());
    absl::Status failed;
    {
      std::unique_lock lock(mailbox_->mutex_);
      bool late = false;
      while (!post_->done && !late) {
        failed = health_->StatusOf(peer);
        if (!failed.ok()) break;
        late = mailbox_->changed_.wait_until(lock, deadline) ==
               std::cv_status::timeout;
      }
      if (post_->done) return absl::OkStatus();
    }
    return failed.ok() ? health_->FailAsSilent(peer) : health_->Fail(failed);
  }

  bool IsReady() override {
    const std::lock_guard lock(mailbox_->mutex_);
    return post_->done;
  }

 private:
  Mailbox* const mailbox_;
  Health* const health_;
  const Mailbox::Route route_;
  const Mailbox::PostPtr post_;
};

Mailbox::PostPtr Mailbox::TakeFirst(Posts& posts, const Route& route) {
  const auto found = posts.find(route);
  if (found == posts.end()) return nullptr;
  PostPtr first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) posts.erase(found);
  return first;
}

void Mailbox::Remove(Posts& posts, const Route& route, const PostPtr& post) {
  const auto found = posts.find(route);
  if (found == posts.end()) return;
  std::erase(found->second, post);
  if (found->second.empty()) posts.erase(found);
}

void Mailbox::Deliver(Post& sent, Post& received) {
  MW_CHECK(sent.bytes.size() == received.into.size())
      << "sent " << sent.bytes.size() << " bytes, expected "
      << received.into.size();
  if (!sent.bytes.empty()) {
    std::memcpy(received.into.data(), sent.bytes.data(), sent.bytes.size());
  }
  sent.done = received.done = true;
}

void Mailbox::AddSend(const Route& route, const PostPtr& post) {
  if (const PostPtr receive = TakeFirst(receives_, route)) {
    Deliver(*post, *receive);
    changed_.notify_all();
  } else {
    sends_[route].push_back(post);
  }
}

std::unique_ptr<Transfer> Mailbox::Send(const Route& route,
                                        absl::Span<const std::byte> bytes,
                                        Health& health) {
  auto post = std::make_shared<Post>(Post{.bytes = bytes});
  const std::lock_guard lock(mutex_);
  if (health.StatusOf(route.to).ok()) AddSend(route, post);
  return std::make_unique<MailboxTransfer>(this, &health, route,
                                           std::move(post));
}

absl::Status Mailbox::Park(const Route& route, OwnedBytes bytes,
                           Health& health) {
  const auto post = std::make_shared<Post>(
      Post{.bytes = bytes.bytes, .owner = std::move(bytes.owner)});
  const std::lock_guard lock(mutex_);
  MW_RETURN_IF_ERROR(health.StatusOf(route.to));
  AddSend(route, post);
  return absl::OkStatus();
}

std::unique_ptr<Transfer> Mailbox::Receive(const Route& route,
                                           absl::Span<std::byte> into,
                                           Health& health) {
  auto post = std::make_shared<Post>(Post{.into = into});
  PostPtr sent;  // Destroyed after the lock is released.
  const std::lock_guard lock(mutex_);
  if (health.StatusOf(route.from).ok()) {
    sent = TakeFirst(sends_, route);
    if (sent != nullptr) {
      Deliver(*sent, *post);
      changed_.notify_all();
    } else {
      receives_[route].push_back(post);
    }
  }
  return std::make_unique<MailboxTransfer>(this, &health, route,
                                           std::move(post));
}

void Mailbox::Withdraw(const Route& route, const PostPtr& post) {
  const std::lock_guard lock(mutex_);
  if (post->done) return;
  Remove(sends_, route, post);
  Remove(receives_, route, post);
}

void Mailbox::Forget(int rank) {
  Posts forgotten;  // Destroyed after the lock is released.
  const std::lock_guard lock(mutex_);
  for (Posts* posts : {&sends_, &receives_}) {
    for (auto post = posts->begin(); post != posts->end();) {
      const auto next = std::next(post);
      const Route& route = post->first;
      if (rank == (posts == &sends_ ? route.from : route.to)) {
        forgotten.insert(posts->extract(post));
      }
      post = next;
    }
  }
}

void Mailbox::WakeAll() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

}  // namespace meshwright
